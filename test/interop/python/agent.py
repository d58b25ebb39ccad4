"""Runs the SDK's kmd client with an agent's token in place of the API token, and prints the outcome of each step."""

import json
import os

from algosdk import encoding, error, kmd, transaction

client = kmd.KMDClient(os.environ["AGENT_TOKEN"], os.environ["KMD_URL"])
address = os.environ["ADDRESS"]


def attempt(call):
    try:
        return {"ok": call()}
    except error.KMDHTTPError as refused:
        return {"error": type(refused).__name__, "text": str(refused)}


def sign(amount):
    params = transaction.SuggestedParams(
        1000, 1, 1000, os.environ["GENESIS_HASH"], gen="agents-v1", flat_fee=True, min_fee=1000
    )
    payment = transaction.PaymentTxn(address, params, address, amount)
    signed = client.sign_transaction(handle, "", payment)
    return encoding.msgpack_encode(signed)


wallets = client.list_wallets()
handle = client.init_wallet_handle(wallets[0]["id"], "")
results = {
    "wallets": [wallet["id"] for wallet in wallets],
    "keys": client.list_keys(handle),
    "within": attempt(lambda: sign(100_000)),
    "beyond": attempt(lambda: sign(100_000_000)),
    "export": attempt(lambda: client.export_key(handle, "", address)),
    "generate": attempt(lambda: client.generate_key(handle, False)),
    "other": attempt(lambda: client.init_wallet_handle(os.environ["OTHER_WALLET"], os.environ["PASSWORD"])),
    "released": client.release_wallet_handle(handle),
}
print(json.dumps(results))
