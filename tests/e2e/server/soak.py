#!/usr/bin/python3
"""Runs programs against one daemon for a while, kills its workers, and occasionally stops the
daemon itself. Every program must succeed, and the daemon must not grow.

    ./kiln python tests/e2e/server/soak.py [--minutes 30] [--clients 3]

The last line of the output is a report as JSON. The exit status is 1 if a program failed or the
daemon grew.
"""

import argparse
import json
import os
import pathlib
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

# Not ./kiln, which would check at every start whether the build is current.
KILN = (sys.executable, "-m", "kiln.cli")
# Half of the kernels are new, the others belong to a small set that is already compiled.
PROGRAM = """
import random, sys
import taichi as ti
ti.init()
x = ti.field(ti.i32, shape=8)
@ti.kernel
def fill(c: ti.template()):
    for i in x:
        x[i] = i * c + 1
numbers = random.Random(int(sys.argv[1]))
for n in range(int(sys.argv[2])):
    c = numbers.randrange(50) if n % 2 else numbers.randrange(10**8)
    fill(c)
    assert x[3] == 3 * c + 1
"""
# As many kernels as the daemon keeps records of (kMaxRecent and kMaxSlowest in activity.cc), and a
# few more. They are compiled before the first look: lists that fill would look like growth.
KEPT_RECORDS = 600
# The daemon's growth relative to its first quarter of an hour, or to the first third of a shorter
# run.
SLACK, SLACK_KB = 1.1, 4096
# A small memory tier, which fills soon: one that fills later would look like growth.
CONFIGURATION = "memory { max_bytes: 262144 }"


def status(pid, field):
    """A number of /proc/PID/status."""
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(rf"^{field}:\s+(\d+)", text, re.M).group(1))


def workers(daemon):
    """The processes of the daemon's workers; any thread may be the parent."""
    found = []
    for task in pathlib.Path(f"/proc/{daemon}/task").iterdir():
        try:
            found += [int(pid) for pid in (task / "children").read_text().split()]
        except OSError:
            pass  # a thread that has just ended
    return found


class Soak:
    def __init__(self, home, clients):
        self.home = pathlib.Path(home)
        self.program = self.home / "program.py"
        self.program.write_text(PROGRAM)
        (self.home / "home").mkdir(mode=0o700)
        (self.home / "home" / "kilnd.conf").write_text(CONFIGURATION)
        self.environment = {
            **os.environ,
            "KILN_HOME": str(self.home / "home"),
            "KILN_CACHE_BYTES": str(2 << 20),  # so that entries are evicted all the time
        }
        self.clients = clients
        self.stopping = threading.Event()
        self.seeds = random.Random(7)
        self.runs, self.killed, self.stopped = 0, 0, 0
        self.failures = []
        self.samples = []

    def run_program(self, calls=8):
        done = subprocess.run(
            [*KILN, "run", "-q", self.program, str(self.seeds.randrange(10**9)), str(calls)],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=120,
        )
        self.runs += 1
        if done.returncode != 0:
            self.failures.append(done.stderr[-2000:])

    def client(self):
        while not self.stopping.is_set() and not self.failures:
            self.run_program()

    def daemon(self):
        return int((self.home / "home" / "kilnd.pid").read_text())

    def look(self, daemon):
        descriptors = len(os.listdir(f"/proc/{daemon}/fd"))
        self.samples.append((status(daemon, "VmRSS"), descriptors, status(daemon, "Threads")))

    def trouble(self, daemon, turn):
        if turn % 10 == 9:
            os.kill(daemon, signal.SIGSTOP)
            time.sleep(1)
            os.kill(daemon, signal.SIGCONT)
            self.stopped += 1
        elif turn % 3 == 2:
            for pid in workers(daemon)[:1]:
                os.kill(pid, signal.SIGKILL)
                self.killed += 1

    def run(self, seconds):
        self.run_program(2 * KEPT_RECORDS)  # starts the daemon
        daemon = self.daemon()
        threads = [threading.Thread(target=self.client) for _ in range(self.clients)]
        for thread in threads:
            thread.start()
        end = time.monotonic() + seconds
        turn = 0
        while time.monotonic() < end and not self.failures:
            self.look(daemon)
            self.trouble(daemon, turn)
            time.sleep(1)
            turn += 1
        self.stopping.set()
        for thread in threads:
            thread.join()
        if self.daemon() != daemon:
            self.failures.append(f"the daemon is another one: {daemon} before")
        subprocess.run([*KILN, "stop"], env=self.environment, capture_output=True)

    def report(self):
        third = max(1, len(self.samples) // 3)
        first, last = self.samples[third // 2 : third // 2 + third], self.samples[-third:]
        columns = {}
        for i, name in enumerate(("resident_kb", "descriptors", "threads")):
            columns[name] = [statistics.median(s[i] for s in part) for part in (first, last)]
        before, after = columns["resident_kb"]
        if after > before * SLACK + SLACK_KB:
            self.failures.append(f"the daemon grew from {before} to {after} kB")
        before, after = columns["descriptors"]
        if after > before * SLACK + 16:
            self.failures.append(f"open descriptors grew from {before} to {after}")
        return {
            "programs": self.runs,
            "workers_killed": self.killed,
            "daemon_stopped": self.stopped,
            **columns,
            "failures": self.failures,
        }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--clients", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kiln-soak-", ignore_cleanup_errors=True) as home:
        soak = Soak(home, options.clients)
        soak.run(options.minutes * 60)
        report = soak.report()
    print(json.dumps(report))
    return 1 if report["failures"] else 0


if __name__ == "__main__":
    sys.exit(main())
