"""Pays for a request on TestNet: AVM_MNEMONIC="25 words" python buyer.py URL"""

import asyncio
import os
import sys

from algorand_exact import AlgorandClientScheme
from algosdk import mnemonic
from algosdk.v2client.algod import AlgodClient
from x402 import x402Client
from x402.http.clients import x402HttpxClient

node = os.environ.get("ALGOD_URL", "https://testnet-api.algonode.cloud")


async def main() -> None:
    private_key = mnemonic.to_private_key(os.environ["AVM_MNEMONIC"])
    client = x402Client()
    client.register("algorand:*", AlgorandClientScheme(private_key, AlgodClient("", node)))
    async with x402HttpxClient(client) as http:
        response = await http.get(sys.argv[1])
        await response.aread()
    print(response.status_code, response.text)


asyncio.run(main())
