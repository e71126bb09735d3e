"""Runs a build cluster on one machine: BuildGrid's cache and, if PostgreSQL is available, its
scheduler and a worker that runs actions.

    VENV/bin/python buildgrid_cluster.py FOLDER [PORT]

It tests Kiln against an independent Remote Execution API server (real_server_test.cc). It needs the
package buildgrid; to run actions, also psycopg2-binary and PostgreSQL's programs. When the server
is ready, it prints "ready HOST:PORT/INSTANCE", followed by what is missing for running actions.
Then it prints a line for each action that ran, and exits at the end of its standard input.
BuildGrid has no worker; the one here runs commands without a sandbox.
"""

import contextlib
import glob
import importlib.util
import os
import pathlib
import pwd
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

import grpc
from buildgrid._protos.build.bazel.remote.execution.v2 import remote_execution_pb2 as reapi
from buildgrid._protos.google.bytestream import bytestream_pb2, bytestream_pb2_grpc
from buildgrid._protos.google.devtools.remoteworkers.v1test2 import bots_pb2, bots_pb2_grpc
from buildgrid.server.utils.digests import create_digest

INSTANCE = "main"
CONFIGURATION = """
server:
  - !channel
    address: "127.0.0.1:{port}"
    insecure-mode: true
authorization:
  method: none
monitoring:
  enabled: false
storages:
  - !disk-storage &cas
    path: {folder}/cas
caches:
  - !lru-action-cache &results
    storage: *cas
    max-cached-refs: 1000
    allow-updates: true
    cache-failed-actions: false
{scheduler}instances:
  - name: main
    services:
      - !action-cache
        cache: *results
      - !cas
        storage: *cas
      - !bytestream
        storage: *cas
{execution}thread-pool-size: 50
"""
SCHEDULER = """connections:
  - !sql-connection &sql
    connection-string: {database}
    pool-size: 20
schedulers:
  - !sql-scheduler &scheduler
    sql: *sql
    storage: *cas
    action-cache: *results
    property-set: !dynamic-property-set
      match-property-keys: [OSFamily]
    assigners:
      - !priority-age-assigner
        count: 1
        interval: 0.1
"""
EXECUTION = """      - !execution
        scheduler: *scheduler
"""


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def await_port(port, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.1)
    raise RuntimeError(f"no daemon listens on port {port}")


def postgres_programs():
    return [os.path.dirname(found) for found in glob.glob("/usr/lib/postgresql/*/bin/initdb")]


def lacking(folder):
    """What is missing for starting PostgreSQL, as text; "" if nothing is."""
    if not postgres_programs():
        return "no PostgreSQL: no /usr/lib/postgresql/*/bin/initdb"
    if importlib.util.find_spec("psycopg2") is None:
        return f"no psycopg2 in {sys.executable}"
    if os.getuid() != 0:
        return ""
    try:
        uid = pwd.getpwnam("postgres").pw_uid
        os.chown(folder / "cas", uid, -1)
        os.chown(folder / "cas", 0, -1)
    except (KeyError, OSError) as error:
        return f"root cannot become the user postgres here, as it must for PostgreSQL: {error}"
    return ""


def start_postgres(data, port, processes):
    """Starts PostgreSQL on `port` as an unprivileged user, since it refuses root. Returns the
    user."""
    programs = postgres_programs()
    user = "postgres" if os.getuid() == 0 else pwd.getpwuid(os.getuid()).pw_name
    who = {"user": user, "cwd": data} if os.getuid() == 0 else {"cwd": data}
    if os.getuid() == 0:
        shutil.chown(data, user)
    initdb = [f"{programs[-1]}/initdb", "-D", data, "-A", "trust", "-U", user]
    subprocess.run(initdb, check=True, stdout=subprocess.DEVNULL, **who)
    command = [f"{programs[-1]}/postgres", "-D", data, "-p", str(port), "-k", data]
    processes.append(subprocess.Popen([*command, "-F"], stderr=subprocess.DEVNULL, **who))
    await_port(port)
    return user


class Worker:
    """A worker that leases actions and runs them one after the other."""

    def __init__(self, port):
        self.channel = grpc.insecure_channel(f"127.0.0.1:{port}")
        self.streams = bytestream_pb2_grpc.ByteStreamStub(self.channel)
        self.bots = bots_pb2_grpc.BotsStub(self.channel)
        self.blobs = {}

    def fetch(self, digest):
        if digest.hash not in self.blobs:
            name = f"{INSTANCE}/blobs/{digest.hash}/{digest.size_bytes}"
            request = bytestream_pb2.ReadRequest(resource_name=name)
            self.blobs[digest.hash] = b"".join(part.data for part in self.streams.Read(request))
        return self.blobs[digest.hash]

    def store(self, data):
        digest = create_digest(data)
        name = f"{INSTANCE}/uploads/{os.urandom(16).hex()}/blobs/{digest.hash}/{digest.size_bytes}"
        request = bytestream_pb2.WriteRequest(resource_name=name, data=data, finish_write=True)
        self.streams.Write(iter([request]))
        return digest

    def lay(self, digest, folder):
        folder.mkdir(exist_ok=True)
        directory = reapi.Directory.FromString(self.fetch(digest))
        for file in directory.files:
            (folder / file.name).write_bytes(self.fetch(file.digest))
            (folder / file.name).chmod(0o700 if file.is_executable else 0o600)
        for below in directory.directories:
            self.lay(below.digest, folder / below.name)

    def run(self, action):
        command = reapi.Command.FromString(self.fetch(action.command_digest))
        result = reapi.ActionResult()
        with tempfile.TemporaryDirectory() as root:
            folder = pathlib.Path(root)
            self.lay(action.input_root_digest, folder)
            done = subprocess.run(command.arguments, cwd=folder, env={}, capture_output=True)
            result.exit_code = done.returncode
            result.stderr_raw = done.stderr
            for path in command.output_paths:
                if (folder / path).exists():
                    stored = self.store((folder / path).read_bytes())
                    result.output_files.add(path=path, digest=stored)
        print("ran", *command.arguments, "->", result.exit_code, flush=True)
        return result

    def serve(self):
        session = bots_pb2.BotSession(bot_id="one", status=bots_pb2.OK)
        session.worker.devices.add(handle="one").properties.add(key="OSFamily", value="linux")
        request = bots_pb2.CreateBotSessionRequest(parent=INSTANCE, bot_session=session)
        session = self.bots.CreateBotSession(request, timeout=30)
        while True:
            for lease in session.leases:
                if lease.state == bots_pb2.PENDING:
                    lease.state = bots_pb2.ACTIVE
                elif lease.state == bots_pb2.ACTIVE:
                    action = reapi.Action()
                    lease.payload.Unpack(action)
                    lease.result.Pack(self.run(action))
                    lease.status.code = 0
                    lease.state = bots_pb2.COMPLETED
            update = bots_pb2.UpdateBotSessionRequest(name=session.name, bot_session=session)
            session = self.bots.UpdateBotSession(update, timeout=30)


def serve(worker):
    """Serves actions until the server exits."""
    with contextlib.suppress(grpc.RpcError):
        worker.serve()


def main():
    folder = pathlib.Path(sys.argv[1]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    port = int(sys.argv[2]) if len(sys.argv) > 2 else free_port()
    processes = []
    # Not below `folder`, because PostgreSQL's user may not be able to enter its parents.
    data = tempfile.mkdtemp(prefix="kiln-postgres-")
    try:
        bgd = pathlib.Path(sys.executable).parent / "bgd"
        (folder / "cas").mkdir()
        lacks = lacking(folder)
        executes = not lacks
        log = open(folder / "buildgrid.log", "wb")  # noqa: SIM115 (the child processes keep it)
        scheduler = ""
        if executes:
            sql_port = free_port()
            user = start_postgres(data, sql_port, processes)
            database = f"postgresql+psycopg2://{user}@127.0.0.1:{sql_port}/postgres"
            scheduler = SCHEDULER.format(database=database)
            migrate = [bgd, "migrate", "apply", database]
            subprocess.run(migrate, check=True, stdout=log, stderr=log)
        execution = EXECUTION if executes else ""
        configuration = folder / "buildgrid.yml"
        configuration.write_text(
            CONFIGURATION.format(port=port, folder=folder, scheduler=scheduler, execution=execution)
        )
        server = [bgd, "server", "start", configuration]
        processes.append(subprocess.Popen(server, stdout=log, stderr=log))
        await_port(port)
        if executes:
            threading.Thread(target=serve, args=(Worker(port),), daemon=True).start()
        print(f"ready 127.0.0.1:{port}/{INSTANCE} {lacks}", flush=True)
        sys.stdin.read()
    finally:
        for process in reversed(processes):
            process.terminate()
        for process in processes:
            process.wait()
        shutil.rmtree(data, ignore_errors=True)


if __name__ == "__main__":
    main()
