"""Sells GET /weather for one cent on TestNet: AVM_ADDRESS=... FACILITATOR_URL=... python seller.py"""

import os

import uvicorn
from algorand_exact import AlgorandServerScheme
from fastapi import FastAPI
from x402 import x402ResourceServer
from x402.http import FacilitatorConfig, HTTPFacilitatorClient, PaymentOption, RouteConfig
from x402.http.middleware.fastapi import PaymentMiddlewareASGI

TESTNET = "algorand:SGO1GKSzyE7IEPItTxCByw9x8FmnrCDe"

server = x402ResourceServer(HTTPFacilitatorClient(FacilitatorConfig(url=os.environ["FACILITATOR_URL"])))
server.register(TESTNET, AlgorandServerScheme())
option = PaymentOption(scheme="exact", network=TESTNET, pay_to=os.environ["AVM_ADDRESS"], price="$0.01")

app = FastAPI()
app.add_middleware(PaymentMiddlewareASGI, routes={"GET /weather": RouteConfig(accepts=[option])}, server=server)


@app.get("/weather")
async def weather():
    return {"weather": "sunny"}


uvicorn.run(app, host="127.0.0.1", port=int(os.environ.get("PORT", "4030")))
