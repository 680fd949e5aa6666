"""A real Chromium for tests that look at pages, driven over its DevTools protocol, which aiohttp speaks as it is.

https://chromedevtools.github.io/devtools-protocol/. One page; its requests are kept, so that a test can check whether
anything came from elsewhere.
"""

import asyncio
import base64
import os
import shutil
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import aiohttp

_NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome")
_PATIENCE_SECONDS = 60.0
# The number of pixels that differ between two pictures in base64; all if their sizes differ.
_DIFFERENCE = """
async pictures => {
  const [one, other] = await Promise.all(pictures.map(async each => {
    const bytes = Uint8Array.from(atob(each), letter => letter.charCodeAt(0));
    const image = await createImageBitmap(new Blob([bytes], {type: 'image/png'}));
    const canvas = new OffscreenCanvas(image.width, image.height).getContext('2d');
    canvas.drawImage(image, 0, 0);
    return canvas.getImageData(0, 0, image.width, image.height);
  }));
  const {width, height} = one;
  if (width !== other.width || height !== other.height) return width * height;
  let different = 0;
  for (let at = 0; at < one.data.length; at += 4) {
    different += [0, 1, 2].some(band => Math.abs(one.data[at + band] - other.data[at + band]) > 64);
  }
  return different;
}
"""
# Two pictures of one page have differed in 27 pixels at most; a word has hundreds.
_MOST_DIFFERENT = 100
_KEY_CODES = {"Tab": 9, "Enter": 13, "Escape": 27, " ": 32, "End": 35, "Home": 36, "ArrowDown": 40}


def _code(key: str) -> str:
    """Return the physical key of a key's name."""
    return {" ": "Space"}.get(key, f"Key{key.upper()}" if len(key) == 1 else key)


def find_browser() -> Path | None:
    """Return the program that CHROMIUM names, or the first of the usual names on the PATH."""
    found = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, _NAMES)), None)
    return Path(found) if found else None


class Page:
    """One tab."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        """Talk over a DevTools socket."""
        self._socket = socket
        self._number = 0
        self.requested: list[str] = []
        """The address of everything that was requested, by any part of the page."""
        self._loaded: set[str] = set()
        self.said: list[str] = []
        """What went wrong in the page: errors, and what its policy refused."""

    async def send(self, method: str, **params: Any) -> Any:
        """Call a method; return its result."""
        self._number += 1
        await self._socket.send_json({"id": self._number, "method": method, "params": params})
        while True:
            message = await self._receive()
            if message.get("id") == self._number:
                assert "error" not in message, (method, message)
                return message["result"]

    async def open(self, page: Path | str, *, width: int = 1280, dark: bool = False) -> None:
        """Load a file, or an address, on a screen of that width and scheme of colours."""
        for domain in ("Page", "Network", "Log", "Runtime"):
            await self.send(f"{domain}.enable")
        await self.send("Page.setLifecycleEventsEnabled", enabled=True)
        await self.send(
            "Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        await self.send("Emulation.setEmulatedMedia", features=[scheme])
        self.requested.clear()
        loader = (await self.send("Page.navigate", url=page if isinstance(page, str) else page.as_uri()))["loaderId"]
        # By its loader: the empty page of a new tab is loaded too, and this one may be before the call is answered.
        while loader not in self._loaded:
            await self._receive()

    async def ask(self, expression: str) -> Any:
        """Return the value of a JavaScript expression; the tests' own, for pages have none."""
        found = await self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    async def until(self, expression: str) -> Any:
        """Wait until the value of a JavaScript expression is true, and return it."""
        async with asyncio.timeout(_PATIENCE_SECONDS):
            while not (found := await self.ask(expression)):  # noqa: ASYNC110 - the page sends no event
                await asyncio.sleep(0.05)
        return found

    async def write(self, text: str) -> None:
        """Insert a text where the focus is, as a keyboard does."""
        await self.send("Input.insertText", text=text)

    async def press(self, key: str, *, control: bool = False, shift: bool = False) -> None:
        """Press and release a key, by its name in the DOM: ``Tab``, ``z``."""
        text = {"Enter": "\r", " ": " "}.get(key, "" if control or len(key) > 1 else key)
        code = _KEY_CODES.get(key, ord(key[0].upper()))
        fields = {"key": key, "code": _code(key), "windowsVirtualKeyCode": code, "modifiers": 2 * control + 8 * shift}
        await self.send("Input.dispatchKeyEvent", type="keyDown", **fields, **({"text": text} if text else {}))
        await self.send("Input.dispatchKeyEvent", type="keyUp", **fields)

    async def picture(self) -> bytes:
        """Return the window as a PNG."""
        return base64.b64decode((await self.send("Page.captureScreenshot", format="png"))["data"])

    async def names(self) -> list[tuple[str, str]]:
        """Return role and name of everything that assistive technology can read."""
        tree = await self.send("Accessibility.getFullAXTree")
        seen = [node for node in tree["nodes"] if not node["ignored"]]
        return [(node["role"]["value"], node.get("name", {}).get("value", "")) for node in seen]

    async def _receive(self) -> dict[str, Any]:
        message: dict[str, Any] = await self._socket.receive_json(timeout=_PATIENCE_SECONDS)
        match message.get("method"):
            case "Page.lifecycleEvent" if message["params"]["name"] == "load":
                self._loaded.add(message["params"]["loaderId"])
            case "Network.requestWillBeSent":
                self.requested.append(message["params"]["request"]["url"])
            case "Log.entryAdded":
                self.said.append(message["params"]["entry"]["text"])
            case "Runtime.exceptionThrown" | "Runtime.consoleAPICalled" | "Page.javascriptDialogOpening":
                self.said.append(str(message["params"]))
        return message


async def compare_picture(page: Page, kept: Path) -> None:
    """Compare the window with a picture of the documentation; PODBERTH_PICTURES=1 replaces the latter.

    Some pixels may differ: the browser does not draw all edges alike each time. Other words differ in more.
    """
    picture = await page.picture()
    if os.environ.get("PODBERTH_PICTURES"):
        await asyncio.to_thread(kept.write_bytes, picture)
    await page.open("about:blank")
    pictures = (picture, await asyncio.to_thread(kept.read_bytes))
    images = ", ".join(f"'{base64.b64encode(each).decode()}'" for each in pictures)
    different = await page.ask(f"({_DIFFERENCE})([{images}])")
    assert different <= _MOST_DIFFERENT, (
        f"{kept.name}: {different:,} pixels differ; with PODBERTH_PICTURES=1 it is taken again"
    )


@contextmanager
def running(program: Path, folder: Path) -> Iterator[str]:
    """Start a browser whose profile lies in ``folder``, yield where it listens, and end it."""
    # Containers, where tests often run as root, have no user namespaces for its sandbox; the pages are our own.
    flags = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--remote-debugging-port=0")
    with (folder / "browser.log").open("wb") as log:
        process = subprocess.Popen(
            [program, *flags, f"--user-data-dir={folder}", "about:blank"],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.PIPE,
        )
        assert process.stderr is not None
        try:
            said = (line.decode(errors="replace") for line in process.stderr)
            start = "DevTools listening on ws://"
            address = next((line.removeprefix(start).split("/")[0] for line in said if line.startswith(start)), "")
            assert address, "the browser ended before it listened"
            yield address
        finally:
            process.terminate()
            process.communicate(timeout=_PATIENCE_SECONDS)


@asynccontextmanager
async def browsing(address: str) -> AsyncIterator[Page]:
    """Open a tab of its own in a browser, and close it."""
    async with aiohttp.ClientSession(f"http://{address}") as session:
        async with session.put("/json/new?about:blank") as response:
            tab = await response.json()
        async with session.ws_connect(tab["webSocketDebuggerUrl"], max_msg_size=0) as socket:
            yield Page(socket)
        async with session.get(f"/json/close/{tab['id']}") as response:
            await response.read()
