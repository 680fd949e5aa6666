"""The port of probes, plain HTTP: /livez, /readyz and /metrics, for the kubelet and Prometheus; reviews never come."""

import json
from collections.abc import Callable, Sequence

from aiohttp import web

from .errors import UsageError
from .settings import Address
from .telemetry.metrics import CONTENT_TYPE


def make_probes(unready: Callable[[], Sequence[str]], page: Callable[[], bytes]) -> web.Application:
    """Return the application of that port; ``unready`` says why it is not, ``page`` is that of the metrics."""

    async def livez(_: web.Request) -> web.Response:
        # That the loop answers is all: a restart mends neither policies nor certificates.
        return web.Response(text="ok\n")

    async def readyz(_: web.Request) -> web.Response:
        reasons = unready()
        if not reasons:
            return web.Response(text="ok\n")
        return web.Response(
            status=503, text=json.dumps({"unready": list(reasons)}) + "\n", content_type="application/json"
        )

    async def exposition(_: web.Request) -> web.Response:
        return web.Response(body=page(), headers={"Content-Type": CONTENT_TYPE})

    probes = web.Application()
    probes.router.add_get("/livez", livez)
    probes.router.add_get("/readyz", readyz)
    probes.router.add_get("/metrics", exposition)
    return probes


async def start_probes(probes: web.Application, address: Address) -> tuple[web.AppRunner, Address]:
    """Listen with the port of probes; ``cleanup`` of the runner ends it.

    Raises:
        UsageError: the address cannot be had.
    """
    runner = web.AppRunner(probes, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, address.host or None, address.port).start()
    except OSError as error:
        await runner.cleanup()
        where = f"{address.host}:{address.port}"
        raise UsageError(f"--metrics-listen: got {where}, which cannot be had: {error}") from error
    host, port = runner.addresses[0][:2]
    return runner, Address(host, port)
