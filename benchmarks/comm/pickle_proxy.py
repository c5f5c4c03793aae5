"""The peer of the Python proxy: the plainest one that could be written with pyzmq and pickle."""

import pickle
import tempfile
import uuid
from pathlib import Path
from typing import Any

import zmq


class PlainMessage:
    """The fields that a message of a proxy has."""

    def __init__(
        self,
        tag: str,
        source: str,
        destination: str,
        body: Any = None,
        session_id: str | None = None,
    ) -> None:
        self.tag = tag
        self.source = source
        self.destination = destination
        self.body = body
        self.session_id = session_id or str(uuid.uuid1())
        self.message_id = str(uuid.uuid1())


class PickleProxy:
    """One PUSH and one PULL socket over TCP, and every message pickled as a whole."""

    def __init__(self, folder: Path, name: str, peer: str) -> None:
        self.name = name
        self.peer = peer
        self._context = zmq.Context()
        self._pull = self._context.socket(zmq.PULL)
        self._pull.setsockopt(zmq.RCVTIMEO, 60_000)
        port = self._pull.bind_to_random_port("tcp://127.0.0.1")
        with tempfile.NamedTemporaryFile("w", dir=folder, delete=False) as file:
            file.write(str(port))
        Path(file.name).rename(folder / f"{name}.port")
        self._push = self._context.socket(zmq.PUSH)
        self._push.setsockopt(zmq.LINGER, 0)

    def connect(self, folder: Path) -> None:
        """Once the peer has made its proxy."""
        self._push.connect(f"tcp://127.0.0.1:{(folder / f'{self.peer}.port').read_text()}")

    def isend(self, message: PlainMessage) -> None:
        self._push.send(pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL))

    def receive_once(self) -> PlainMessage:
        return pickle.loads(self._pull.recv())

    def send(self, message: PlainMessage) -> list[PlainMessage]:
        """Waits for the reply in the same session."""
        self.isend(message)
        reply = self.receive_once()
        assert reply.session_id == message.session_id
        return [reply]

    def reply(self, message: PlainMessage, body: Any = None) -> None:
        self.isend(PlainMessage(message.tag, self.name, message.source, body, message.session_id))
