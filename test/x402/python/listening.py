"""Serves on a free port and prints the port as the first line of the output."""

import socket

import uvicorn


def serve(app) -> None:
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    # Before the port is known, because a request may arrive before the server accepts.
    listener.listen()
    print(listener.getsockname()[1], flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listener])
