"""Pays for a request with httpx, and prints the response."""

import asyncio
import json
import os
import sys

from signers import ClientSigner
from x402 import x402Client
from x402.http.clients import x402HttpxClient
from x402.mechanisms.avm.exact import ExactAvmScheme


async def main() -> None:
    client = x402Client()
    client.register("algorand:*", ExactAvmScheme(signer=ClientSigner(os.environ["AVM_PRIVATE_KEY"])))
    async with x402HttpxClient(client) as http:
        response = await http.get(sys.argv[1])
        await response.aread()
    receipt = response.headers.get("payment-response")
    print(json.dumps({"status": response.status_code, "body": response.text, "receipt": receipt}))


asyncio.run(main())
