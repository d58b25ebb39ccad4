"""Sells GET /weather with FastAPI."""

import importlib
import os

from fastapi import FastAPI
from listening import serve
from x402 import x402ResourceServer
from x402.http import FacilitatorConfig, HTTPFacilitatorClient, PaymentOption, RouteConfig
from x402.http.middleware.fastapi import PaymentMiddlewareASGI

schemes = importlib.import_module(os.environ["SCHEMES"])

server = x402ResourceServer(HTTPFacilitatorClient(FacilitatorConfig(url=os.environ["FACILITATOR_URL"])))
server.register(schemes.network, schemes.server_scheme())
option = PaymentOption(
    scheme="exact", network=schemes.network, pay_to=os.environ["AVM_ADDRESS"], price=os.environ["PRICE"]
)

app = FastAPI()
app.add_middleware(PaymentMiddlewareASGI, routes={"GET /weather": RouteConfig(accepts=[option])}, server=server)


@app.get("/weather")
async def weather():
    return {"report": {"weather": "sunny", "temperature": 70}}


serve(app)
