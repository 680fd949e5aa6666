"""A scripted editor: a client of the Language Server Protocol that talks with the process `podberth lsp`.

It frames the messages of JSON-RPC itself, so that the server's library does not test itself.
"""

import asyncio
import json
import sys
from asyncio.subprocess import PIPE, Process
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from integration.serving import environment

Message = dict[str, Any]

SECONDS = 60.0
"""The time after which a message that never comes fails a test; a busy machine takes a few seconds for the first."""


def position(text: str, mark: str = "^") -> tuple[str, Message]:
    """Return (the text without its mark, the position of the mark in UTF-16)."""
    before, _, after = text.partition(mark)
    line = before.rpartition("\n")[2]
    return before + after, {"line": before.count("\n"), "character": len(line.encode("utf-16-le")) // 2}


def at(text: str, found: Message) -> str:
    """Return the text of a range, whose positions are in UTF-16."""
    start, end = found["start"], found["end"]
    assert start["line"] == end["line"]
    line: bytes = text.split("\n")[start["line"]].encode("utf-16-le")
    return line[2 * start["character"] : 2 * end["character"]].decode("utf-16-le")


@dataclass
class Editor:
    """An editor with some open documents."""

    process: Process
    folder: Path
    diagnostics: dict[str, list[Message]] = field(default_factory=dict)
    """The last diagnostics of each document, by file name."""
    answer: Message = field(default_factory=dict)
    """The server's answer to the beginning of the conversation."""
    versions: dict[str, int] = field(default_factory=dict)
    """The version of each document, by file name."""
    _requests: int = 0

    async def send(self, method: str, params: object, number: int | None = None) -> None:
        """Send a notification, or a request with a number."""
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        body = json.dumps(message if number is None else {**message, "id": number}).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        await self.process.stdin.drain()

    async def receive(self) -> Message:
        """Return the next message of the server; diagnostics are kept, too."""
        assert self.process.stdout is not None
        header = await self.process.stdout.readuntil(b"\r\n\r\n")
        lengths = (line for line in header.splitlines() if line.lower().startswith(b"content-length:"))
        message: Message = json.loads(await self.process.stdout.readexactly(int(next(lengths).split(b":")[1])))
        if message.get("method") == "textDocument/publishDiagnostics":
            params = message["params"]
            name = params["uri"].rpartition("/")[2]
            if params["uri"] == self.uri(name) and params.get("version") == self.versions.get(name):
                self.diagnostics[name] = params["diagnostics"]
        return message

    async def ask(self, method: str, params: object) -> Any:
        """Send a request and return its result."""
        self._requests += 1
        number = self._requests
        await self.send(method, params, number)
        async with asyncio.timeout(SECONDS):
            while True:
                message = await self.receive()
                if message.get("id") == number and "method" not in message:
                    assert "error" not in message, message["error"]
                    return message["result"]

    async def asked(self, method: str, name: str, where: Message, **more: object) -> Any:
        """Ask about a position of a document."""
        return await self.ask(method, {"textDocument": {"uri": self.uri(name)}, "position": where, **more})

    def uri(self, name: str) -> str:
        """Return the URI of a file in the editor's folder."""
        return (self.folder / name).as_uri()

    async def open(self, name: str, text: str) -> None:
        """Open a document, which may be on no disk."""
        self.versions[name] = 1
        item = {"uri": self.uri(name), "languageId": "yaml", "version": 1, "text": text}
        await self.send("textDocument/didOpen", {"textDocument": item})

    async def change(self, name: str, text: str) -> None:
        """Replace the text of an open document."""
        self.versions[name] += 1
        self.diagnostics.pop(name, None)
        document = {"uri": self.uri(name), "version": self.versions[name]}
        await self.send("textDocument/didChange", {"textDocument": document, "contentChanges": [{"text": text}]})

    async def close(self, name: str) -> None:
        """Close a document."""
        self.versions.pop(name)
        self.diagnostics.pop(name, None)
        await self.send("textDocument/didClose", {"textDocument": {"uri": self.uri(name)}})

    async def found(self, name: str) -> list[Message]:
        """Wait for the diagnostics of the document as it is now, and return them."""
        async with asyncio.timeout(SECONDS):
            while name not in self.diagnostics:
                await self.receive()
        return self.diagnostics[name]


async def start(folder: Path, **capabilities: object) -> Editor:
    """Start the server as an editor does."""
    command = [sys.executable, "-m", "podberth", "lsp", "--stdio"]
    process = await asyncio.create_subprocess_exec(
        *command, stdin=PIPE, stdout=PIPE, cwd=folder, env=environment(), limit=1 << 24
    )
    editor = Editor(process, folder)
    params = {"processId": None, "rootUri": folder.as_uri(), "capabilities": capabilities}
    editor.answer = await editor.ask("initialize", params)
    await editor.send("initialized", {})
    return editor


async def stop(editor: Editor) -> int | None:
    """Shut the server down in order, and return its exit code."""
    try:
        async with asyncio.timeout(SECONDS):
            await editor.ask("shutdown", None)
            await editor.send("exit", None)
            return await editor.process.wait()
    finally:
        if editor.process.returncode is None:
            editor.process.kill()
            await editor.process.wait()
