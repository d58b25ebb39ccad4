"""The schemes of the example, for PyPI x402."""

import os
import sys

from algosdk.v2client.algod import AlgodClient

sys.path.append(os.environ["EXAMPLES"])

from algorand_exact import AlgorandClientScheme, AlgorandServerScheme  # noqa: E402

network = "algorand:SGO1GKSzyE7IEPItTxCByw9x8FmnrCDe"


def client_scheme(private_key: str):
    return AlgorandClientScheme(private_key, AlgodClient("", os.environ["ALGOD_TESTNET_URL"]))


def server_scheme():
    return AlgorandServerScheme()
