"""The schemes of PyPI x402-avm."""

from signers import ClientSigner
from x402.mechanisms.avm import ALGORAND_TESTNET_CAIP2
from x402.mechanisms.avm.exact import ExactAvmScheme, ExactAvmServerScheme

network = ALGORAND_TESTNET_CAIP2


def client_scheme(private_key: str):
    return ExactAvmScheme(signer=ClientSigner(private_key))


def server_scheme():
    return ExactAvmServerScheme()
