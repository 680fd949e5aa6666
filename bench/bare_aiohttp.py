"""The least that a webhook in Python costs: aiohttp reads, orjson parses, and everything is allowed.

``python -m bench.bare_aiohttp PORT CERTIFICATE KEY`` serves on 127.0.0.1 until it is told to end.
"""

import ssl
import sys

import orjson
import uvloop
from aiohttp import web


async def allow(request: web.Request) -> web.Response:
    """Answer a review."""
    review = orjson.loads(await request.read())
    answer = {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "response": {"uid": review["request"]["uid"], "allowed": True},
    }
    return web.Response(body=orjson.dumps(answer), content_type="application/json")


def main() -> None:
    """Serve."""
    port, certificate, key = sys.argv[1:]
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    application = web.Application()
    for path in ("/mutate", "/validate", "/validate-workload"):
        application.router.add_post(path, allow)
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
