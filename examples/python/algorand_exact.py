"""The scheme `exact` on Algorand for PyPI `x402`, which has none: needs `x402` 2.25 and `py-algorand-sdk` 2.12.

    client.register("algorand:*", AlgorandClientScheme(private_key, AlgodClient("", url)))
    server.register("algorand:*", AlgorandServerScheme())
"""

import os

from algosdk import account, encoding, transaction
from algosdk.v2client.algod import AlgodClient
from x402.schemas import AssetAmount
from x402.schemas.helpers import convert_to_token_amount, parse_money

# Keyed by the first 32 characters of the URL-safe genesis hash, which is the reference of the canonical CAIP-2 id.
USDC = {"wGHE2Pwdvd7S12BL5FaOP20EGYesN73k": "31566704", "SGO1GKSzyE7IEPItTxCByw9x8FmnrCDe": "10458941"}
MAX_FEE_MICROALGOS = 10_000


def reference(network: str) -> str:
    """Return the reference of either id of a network. The older id contains the whole hash."""
    return network.removeprefix("algorand:").replace("+", "-").replace("/", "_")[:32]


class AlgorandClientScheme:
    scheme = "exact"

    def __init__(self, private_key: str, algod: AlgodClient):
        self._private_key = private_key
        self._address = account.address_from_private_key(private_key)
        self._algod = algod

    def find_default_asset(self, asset: str, network: str):
        """Lets the spend controls of the client convert dollars; they refuse every other asset."""
        return {"asset": asset, "decimals": 6, "symbol": "USDC"} if USDC.get(reference(network)) == asset else None

    def create_payment_payload(self, requirements):
        params = self._algod.suggested_params()
        if reference(requirements.network) != reference(params.gh):
            raise ValueError(f"the node does not belong to {requirements.network}")
        params.flat_fee, params.last = True, params.first + min(1_000, requirements.max_timeout_seconds // 2 + 10)
        fee_payer = (requirements.extra or {}).get("feePayer")
        fee_payer = None if fee_payer == self._address else fee_payer
        fee = params.min_fee * (2 if fee_payer else 1)
        if fee > MAX_FEE_MICROALGOS:
            raise ValueError(f"a fee of {fee} microAlgos is too high")
        params.fee = 0 if fee_payer else fee
        # The note makes two payments of the same price different transactions.
        transfer = transaction.AssetTransferTxn(
            self._address, params, requirements.pay_to, int(requirements.amount), int(requirements.asset), note=os.urandom(16)
        )
        if not fee_payer:
            return {"paymentGroup": [encoding.msgpack_encode(transfer.sign(self._private_key))], "paymentIndex": 0}
        params.fee = fee
        sponsor = transaction.PaymentTxn(fee_payer, params, fee_payer, 0)
        transaction.assign_group_id([sponsor, transfer])
        group = [encoding.msgpack_encode(sponsor), encoding.msgpack_encode(transfer.sign(self._private_key))]
        return {"paymentGroup": group, "paymentIndex": 1}


class AlgorandServerScheme:
    scheme = "exact"
    default_asset_transfer_method = "default"
    payment_flows = {"default": {"supported": ("authorization", "upfront"), "default": "authorization"}}

    def get_asset_decimals(self, asset: str, network: str):
        return 6 if USDC.get(reference(network)) == asset else None

    def parse_price(self, price, network: str) -> AssetAmount:
        if isinstance(price, AssetAmount):
            return price
        if isinstance(price, dict):
            return AssetAmount(amount=price["amount"], asset=price["asset"], extra=price.get("extra", {}))
        amount = convert_to_token_amount(parse_money(price)["amount"], 6)
        return AssetAmount(amount=amount, asset=USDC[reference(network)], extra={})

    def enhance_payment_requirements(self, requirements, supported_kind, extension_keys):
        fee_payer = (supported_kind.extra or {}).get("feePayer")
        if fee_payer:
            requirements.extra = {**(requirements.extra or {}), "feePayer": fee_payer}
        return requirements
