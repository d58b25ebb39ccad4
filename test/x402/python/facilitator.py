"""Verifies and settles payments for sellers, with FastAPI."""

import os

from fastapi import FastAPI, Request
from listening import serve
from signers import FacilitatorSigner
from x402 import x402FacilitatorSync
from x402.mechanisms.avm import ALGORAND_TESTNET_CAIP2
from x402.mechanisms.avm.exact import ExactAvmFacilitatorScheme
from x402.schemas import PaymentPayload, PaymentRequirements

facilitator = x402FacilitatorSync()
facilitator.register([ALGORAND_TESTNET_CAIP2], ExactAvmFacilitatorScheme(signer=FacilitatorSigner(os.environ["AVM_PRIVATE_KEY"])))
app = FastAPI()


async def payment(request: Request):
    body = await request.json()
    payload = PaymentPayload.model_validate(body["paymentPayload"])
    return payload, PaymentRequirements.model_validate(body["paymentRequirements"])


@app.get("/supported")
async def supported():
    return facilitator.get_supported().model_dump(by_alias=True, exclude_none=True)


@app.post("/verify")
async def verify(request: Request):
    return facilitator.verify(*await payment(request)).model_dump(by_alias=True, exclude_none=True)


@app.post("/settle")
async def settle(request: Request):
    return facilitator.settle(*await payment(request)).model_dump(by_alias=True, exclude_none=True)


serve(app)
