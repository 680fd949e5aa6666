"""The least that a webhook in Python costs: aiohttp reads, orjson parses, and everything is allowed.

``python -m bench.bare_aiohttp PORT CERTIFICATE KEY`` serves on 127.0.0.1 until SIGTERM. With one more,
a JSON Patch, that is what /mutate answers.
"""

import base64
import ssl
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import orjson
import uvloop
from aiohttp import web


def allowing(extra: dict[str, Any]) -> Callable[[web.Request], Awaitable[web.Response]]:
    """Return a handler that allows, with these fields in each answer."""

    async def allow(request: web.Request) -> web.Response:
        review = orjson.loads(await request.read())
        answer = {
            "apiVersion": "admission.k8s.io/v1",
            "kind": "AdmissionReview",
            "response": {"uid": review["request"]["uid"], "allowed": True, **extra},
        }
        return web.Response(body=orjson.dumps(answer), content_type="application/json")

    return allow


def main() -> None:
    """Serve."""
    port, certificate, key, *patch = sys.argv[1:]
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    application = web.Application()
    fixed = {"patchType": "JSONPatch", "patch": base64.b64encode(patch[0].encode()).decode()} if patch else {}
    application.router.add_post("/mutate", allowing(fixed))
    application.router.add_post("/validate", allowing({}))
    application.router.add_post("/validate-workload", allowing({}))
    web.run_app(
        application,
        host="127.0.0.1",
        port=int(port),
        ssl_context=context,
        access_log=None,
        print=None,
        loop=uvloop.new_event_loop(),
    )


if __name__ == "__main__":
    main()
