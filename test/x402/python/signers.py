"""The signers that x402-avm leaves to its users, over py-algorand-sdk."""

import base64
import os

from algosdk import account, encoding, transaction
from algosdk.v2client import algod
from algosdk.v2client.models import SimulateRequest, SimulateRequestTransactionGroup


def sign(txn_bytes: bytes, private_key: str) -> bytes:
    txn = encoding.msgpack_decode(base64.b64encode(txn_bytes).decode())
    return base64.b64decode(encoding.msgpack_encode(txn.sign(private_key)))


class ClientSigner:
    def __init__(self, private_key: str):
        self._private_key = private_key
        self.address = account.address_from_private_key(private_key)

    def sign_transactions(self, unsigned_txns, indexes_to_sign):
        return [sign(txn, self._private_key) if i in indexes_to_sign else None for i, txn in enumerate(unsigned_txns)]


class FacilitatorSigner:
    def __init__(self, private_key: str):
        self._private_key = private_key
        self._address = account.address_from_private_key(private_key)
        self._algod = algod.AlgodClient("", os.environ["ALGOD_TESTNET_URL"])

    def get_addresses(self):
        return [self._address]

    def sign_transaction(self, txn_bytes, fee_payer, network):
        return sign(txn_bytes, self._private_key)

    def sign_group(self, group_bytes, fee_payer, indexes_to_sign, network):
        return [sign(txn, self._private_key) if i in indexes_to_sign else txn for i, txn in enumerate(group_bytes)]

    def simulate_group(self, group_bytes, network):
        txns = [encoding.msgpack_decode(base64.b64encode(one).decode()) for one in group_bytes]
        request = SimulateRequest(txn_groups=[SimulateRequestTransactionGroup(txns=txns)])
        failure = self._algod.simulate_transactions(request)["txn-groups"][0].get("failure-message")
        if failure:
            raise RuntimeError(failure)

    def send_group(self, group_bytes, network):
        return self._algod.send_raw_transaction(base64.b64encode(b"".join(group_bytes)))

    def confirm_transaction(self, txid, network, rounds=4):
        transaction.wait_for_confirmation(self._algod, txid, rounds)
