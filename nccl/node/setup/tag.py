"""A tag on the instance with the node's state, where its role allows that. No role is not a failure."""

import json
import re
import urllib.request

METADATA = "http://169.254.169.254"
MANAGEMENT = "https://management.azure.com"


def ask(url, headers, method="GET", body=None):
    request = urllib.request.Request(url, headers=headers, method=method, data=body)
    with urllib.request.urlopen(request, timeout=5) as answer:
        return answer.read().decode()


def aws(host, key, value):
    token = ask(METADATA + "/latest/api/token", {"X-aws-ec2-metadata-token-ttl-seconds": "60"}, "PUT")
    headers = {"X-aws-ec2-metadata-token": token}
    instance, region = (
        ask(f"{METADATA}/latest/meta-data/{name}", headers) for name in ("instance-id", "placement/region")
    )
    tag = f"Key={json.dumps(key)},Value={json.dumps(value)}"
    host.run(
        "timeout",
        "20",
        "aws",
        "ec2",
        "create-tags",
        "--region",
        region,
        "--resources",
        instance,
        "--tags",
        tag,
    )


def azure(host, key, value):
    headers = {"Metadata": "true"}
    instance = ask(
        METADATA + "/metadata/instance/compute/resourceId?api-version=2021-02-01&format=text", headers
    )
    query = "/metadata/identity/oauth2/token?api-version=2018-02-01&resource=" + MANAGEMENT + "/"
    token = json.loads(ask(METADATA + query, headers))["access_token"]
    url = f"{MANAGEMENT}{instance}/providers/Microsoft.Resources/tags/default?api-version=2021-04-01"
    body = json.dumps({"operation": "Merge", "properties": {"tags": {key: value}}}).encode()
    ask(url, {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}, "PATCH", body)


def put(host, cloud, value):
    """Both clouds take 256 characters, and AWS few besides letters and digits."""
    try:
        {"aws": aws, "azure": azure}[cloud](
            host, "gpu-fabric:state", re.sub(r"[^\w +=.:/@-]", " ", value)[:250]
        )
    except Exception as error:
        return f"not set: {error}"
    return "set"
