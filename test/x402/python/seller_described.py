"""Sells GET /weather with FastAPI, described for catalogues."""

import importlib
import os

from fastapi import FastAPI
from listening import serve
from x402 import x402ResourceServer
from x402.extensions.bazaar import OutputConfig, declare_discovery_extension
from x402.http import FacilitatorConfig, HTTPFacilitatorClient, PaymentOption, RouteConfig
from x402.http.middleware.fastapi import PaymentMiddlewareASGI

schemes = importlib.import_module(os.environ["SCHEMES"])

server = x402ResourceServer(HTTPFacilitatorClient(FacilitatorConfig(url=os.environ["FACILITATOR_URL"])))
server.register(schemes.network, schemes.server_scheme())
option = PaymentOption(
    scheme="exact", network=schemes.network, pay_to=os.environ["AVM_ADDRESS"], price=os.environ["PRICE"]
)
extensions = declare_discovery_extension(
    input={"units": "celsius"},
    input_schema={"properties": {"units": {"type": "string"}}},
    output=OutputConfig(example={"weather": "sunny"}),
)
route = RouteConfig(accepts=[option], description="The weather of a Python shop", extensions=extensions)

app = FastAPI()
app.add_middleware(PaymentMiddlewareASGI, routes={"GET /weather": route}, server=server)


@app.get("/weather")
async def weather():
    return {"weather": "sunny"}


serve(app)
