"""Pays for a request with httpx, and prints the response."""

import asyncio
import importlib
import json
import os
import sys

from x402 import x402Client
from x402.http.clients import x402HttpxClient

schemes = importlib.import_module(os.environ["SCHEMES"])


async def main() -> None:
    client = x402Client()
    client.register("algorand:*", schemes.client_scheme(os.environ["AVM_PRIVATE_KEY"]))
    async with x402HttpxClient(client) as http:
        response = await http.get(sys.argv[1])
        await response.aread()
    receipt = response.headers.get("payment-response")
    print(json.dumps({"status": response.status_code, "body": response.text, "receipt": receipt}))


asyncio.run(main())
