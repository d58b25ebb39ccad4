"""Sells GET /weather with Flask."""

import importlib
import os

from flask import Flask, jsonify
from werkzeug.serving import make_server
from x402 import x402ResourceServerSync
from x402.http import FacilitatorConfig, HTTPFacilitatorClientSync, PaymentOption, RouteConfig
from x402.http.middleware.flask import PaymentMiddleware

schemes = importlib.import_module(os.environ["SCHEMES"])

server = x402ResourceServerSync(HTTPFacilitatorClientSync(FacilitatorConfig(url=os.environ["FACILITATOR_URL"])))
server.register(schemes.network, schemes.server_scheme())
option = PaymentOption(
    scheme="exact", network=schemes.network, pay_to=os.environ["AVM_ADDRESS"], price=os.environ["PRICE"]
)

app = Flask(__name__)
PaymentMiddleware(app, {"GET /weather": RouteConfig(accepts=[option])}, server)


@app.route("/weather")
def weather():
    return jsonify({"report": {"weather": "sunny", "temperature": 70}})


listening = make_server("127.0.0.1", 0, app, threaded=True)
print(listening.server_port, flush=True)
listening.serve_forever()
