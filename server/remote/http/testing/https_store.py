"""A build cache over HTTPS: https_store.py CERTIFICATE KEY USER:PASSWORD

Prints its process id and its port, then stores blobs in memory for clients with the password.
"""

import base64
import http.server
import os
import ssl
import sys


class Store(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    blobs = {}
    credentials = ""

    def reply(self, code, body=b""):
        self.send_response(code)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.headers.get("Authorization") != self.credentials:
            self.reply(401)
        elif self.command == "PUT":
            self.blobs[self.path] = body
            self.reply(200)
        elif self.path in self.blobs:
            self.reply(200, self.blobs[self.path])
        else:
            self.reply(404)

    do_GET = do_HEAD = do_PUT = answer  # noqa: N815 (the library's names)

    def log_message(self, *_arguments):
        pass


def main(certificate, key, credentials):
    Store.credentials = "Basic " + base64.b64encode(credentials.encode()).decode()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Store)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    print(os.getpid(), server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])
