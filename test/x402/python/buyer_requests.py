"""Pays for a request with requests, and prints the response."""

import importlib
import json
import os
import sys

from x402 import x402ClientSync
from x402.http.clients import x402_requests

schemes = importlib.import_module(os.environ["SCHEMES"])

client = x402ClientSync()
client.register("algorand:*", schemes.client_scheme(os.environ["AVM_PRIVATE_KEY"]))
response = x402_requests(client).get(sys.argv[1])
receipt = response.headers.get("payment-response")
print(json.dumps({"status": response.status_code, "body": response.text, "receipt": receipt}))
