"""The second port, plain HTTP: /livez, /readyz and /metrics. The kubelet and Prometheus come here, reviews never do."""

import json

from aiohttp import web

from ..telemetry.metrics import CONTENT_TYPE, Metrics
from .state import ServingState


def make_probes(state: ServingState, metrics: Metrics) -> web.Application:
    """Return the application of the second port."""

    async def livez(_: web.Request) -> web.Response:
        # That the loop answers is all: a restart mends neither policies nor certificates.
        return web.Response(text="ok\n")

    async def readyz(_: web.Request) -> web.Response:
        reasons = state.unready()
        if not reasons:
            return web.Response(text="ok\n")
        return web.Response(status=503, text=json.dumps({"unready": reasons}) + "\n", content_type="application/json")

    async def exposition(_: web.Request) -> web.Response:
        return web.Response(body=metrics.exposition(), headers={"Content-Type": CONTENT_TYPE})

    probes = web.Application()
    probes.router.add_get("/livez", livez)
    probes.router.add_get("/readyz", readyz)
    probes.router.add_get("/metrics", exposition)
    return probes
