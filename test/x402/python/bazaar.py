"""Reads offers and a catalogue with the extension bazaar of the installed package, and lists what it extracts."""

import json
import sys

from x402.extensions.bazaar import ListDiscoveryResourcesParams, extract_discovery_info, with_bazaar
from x402.http import FacilitatorConfig, HTTPFacilitatorClientSync

given = json.load(sys.stdin)


def extracted(required):
    """The payment of a buyer that copies the offer, as a facilitator reads it."""
    accepted = required["accepts"][0]
    payload = {"x402Version": 2, "accepted": accepted, "payload": {}}
    payload |= {name: required[name] for name in ("resource", "extensions")}
    found = extract_discovery_info(payload, accepted)
    if found is None:
        return None
    info = found.discovery_info
    tool = getattr(found, "tool_name", None)
    return {
        "resource": found.resource_url,
        "type": "mcp" if tool else "http",
        "method": found.method or None,
        "toolName": tool,
        "description": found.description,
        "serviceName": getattr(found, "service_name", None),
        "info": info.model_dump(by_alias=True, exclude_none=True),
        "item": {
            "resource": found.resource_url,
            "type": "mcp" if tool else "http",
            "x402Version": found.x402_version,
            "accepts": required["accepts"],
            "lastUpdated": "2026-01-01T00:00:00Z",
            "description": found.description,
            "extensions": payload["extensions"],
        },
    }


def listed():
    if "catalogue" not in given:
        return None
    extensions = with_bazaar(HTTPFacilitatorClientSync(FacilitatorConfig(url=given["catalogue"]))).extensions
    client = getattr(extensions, "bazaar", None) or extensions.discovery
    answer = client.list_resources(ListDiscoveryResourcesParams(limit=50))
    # The packages name the members differently.
    items = getattr(answer, "items", None) or answer.resources
    return [[getattr(item, "resource", None) or item.url, item.type] for item in items]


print(json.dumps({"extracted": [extracted(one) for one in given["offers"]], "listed": listed()}))
