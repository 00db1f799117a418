"""A tag on the instance with the node's state, where its role allows that. No role is not a failure."""

import json
import re
import time

# [azure]
METADATA = "http://169.254.169.254/metadata/"
MANAGEMENT = "https://management.azure.com"


def ask(url, headers, method="GET", body=None):
    import urllib.request

    request = urllib.request.Request(url, headers=headers, method=method, data=body)
    with urllib.request.urlopen(request, timeout=5) as answer:
        return answer.read().decode()


def azure(host, key, value):
    headers = {"Metadata": "true"}
    instance = ask(METADATA + "instance/compute/resourceId?api-version=2021-02-01&format=text", headers)
    query = "identity/oauth2/token?api-version=2018-02-01&resource=" + MANAGEMENT + "/"
    token = json.loads(ask(METADATA + query, headers))["access_token"]
    url = f"{MANAGEMENT}{instance}/providers/Microsoft.Resources/tags/default?api-version=2021-04-01"
    body = json.dumps({"operation": "Merge", "properties": {"tags": {key: value}}}).encode()
    ask(url, {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}, "PATCH", body)


# [/azure]
# [aws]
def aws(host, key, value):
    """Standardized instance data of cloud-init (instancedata.rst, v1), and the client that AWS's images have."""
    instance, region = (
        host.run("cloud-init", "query", "v1." + name).strip() for name in ("instance_id", "region")
    )
    tags = f"Key={key},Value={json.dumps(value)}"
    host.run("aws", "ec2", "create-tags", "--region", region, "--resources", instance, "--tags", tags)


# [/aws]
def put(host, cloud, state, tries=30, pause=20):
    """Write the state until it is final. A role may come later than the node, so what is refused is tried again.

    Both clouds take 256 characters, and AWS few besides letters and digits.
    """
    said = written = ""
    while tries and (state() != written or written == "running"):
        value = state()
        try:
            if value != written:
                globals()[cloud](host, "gpu-fabric:state", re.sub(r"[^\w +=.:/@-]", " ", value)[:250])
            said, written = "set", value
            time.sleep(min(1, pause))
        except Exception as error:
            said = f"not set: {error}"
            tries -= 1
            time.sleep(pause)
    return said
