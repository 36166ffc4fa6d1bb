"""Leads schemathesis to what configs/demo.yaml makes, and names what it calls a failure and the contract does not."""

import itertools
import os
import re

import schemathesis

# Which walks along the links are made: "managing", others, or none. Headers that end walks early are left out: a repeated key
# repeats the answer of an earlier walk, of what may have been removed since, and nothing is as a made-up ETag expects it.
WALKS = os.environ.get("WALKS")
ENDS_OF_WALKS = ("Idempotency-Key", "If-Match", "If-None-Match")
NUMBERS = itertools.count(1)
SLUGS = {"OrganizationSlug": ["acme"], "ProjectSlug": ["shop"], "ApplicationSlug": ["web"]}
# Refusals of a body that fits its schema: something else has the name, or needs what would be deleted; what is named does not exist.
RULES_OF_BODIES = re.compile("in_use|name_taken|unknown_[a-z]+")
RULES_OF_TEXT = re.compile("there is no application with this id|NUL character|control character|a character that no text has"
                           "|there is no group with this name|belongs to a page of the list with other filters")


@schemathesis.hook
def before_load_schema(context, raw_schema):
    """Random slugs and ids of 64 bits name nothing: calls would end at 403 and 404."""
    parameters = raw_schema["components"]["parameters"]
    for name, slugs in SLUGS.items():
        parameters[name]["schema"] = {"type": "string", "enum": slugs}
    for parameter in parameters.values():
        if parameter["in"] == "path" and parameter["schema"].get("type") == "integer":
            parameter["schema"]["maximum"] = 8
    if WALKS:
        for path in raw_schema["paths"].values():
            for operation in path.values():
                if isinstance(operation, dict):
                    kept = [p for p in operation.get("parameters", []) if name_of(p, parameters) not in ENDS_OF_WALKS]
                    operation["parameters"] = kept
    if WALKS == "managing":
        for owner, id in {"e/{evt}/": "slug", "e/{evt}/n/{notification_pk}/": "id"}.items():
            link_to_template(raw_schema["paths"], "/api/o/{org}/p/{prj}/a/{app}/" + owner, id)


def link_to_template(paths, owner, id):
    """No answer that makes an event or a notification names the channel of its first template: that of configs/demo.yaml is 1."""
    *above, last = re.findall(r"{(\w+)}", owner)
    parameters = {name: f"$request.path.{name}" for name in above} | {last: f"$response.body#/{id}", "channel": 1}
    operation = paths[owner + "t/{channel}/"]["put"]["operationId"]
    made = paths[owner.removesuffix(f"{{{last}}}/")]["post"]["responses"]["201"]
    made.setdefault("links", {})[operation] = {"operationId": operation, "parameters": parameters}


def name_of(parameter, shared):
    return shared.get(parameter.get("$ref", "").split("/")[-1], parameter).get("name")


@schemathesis.hook
def before_call(context, case, kwargs):
    """Lets what walks make be made: its name is new, and it names nothing that may not be there."""
    if WALKS != "managing" or case.method != "POST" or not isinstance(case.body, dict):
        return
    for member in ("slug", "name"):
        if isinstance(case.body.get(member), str):
            case.body[member] = f"walk-{next(NUMBERS)}"
    for member in ("application", "channels", "context_schema", "distribution_list", "expires", "project"):
        case.body.pop(member, None)
    if "driver" in case.body:
        case.body.update(protocol="EMAIL", driver="mailbox", settings={})


def is_reused(response):
    return response.json()["code"] == "idempotency_key_reused"


@schemathesis.hook
def filter_failure(context, failure, case, response):
    kind = type(failure).__name__
    if kind == "RejectedPositiveData":
        # What was read has changed, or a key was used with another body: so it is on purpose, as made-up headers have it.
        if response.status_code == 412 or response.status_code == 422 and is_reused(response):
            return False
        if response.status_code != 400:
            return True
        if response.json().get("param") == "If-Match":  # Its form is that of HTTP.
            return False
        # The document forbids some characters in all strings and names, and says so once, in its introduction.
        return not RULES_OF_BODIES.fullmatch(response.json()["code"]) and not RULES_OF_TEXT.search(response.text)
    if kind == "EnsureResourceAvailability":  # What was made is there; a user in the body is not.
        return response.json().get("param") != "users"
    if kind == "AcceptedNegativeData":
        # Headers are judged before the body and the rest of the path.
        if response.status_code == 412 or response.status_code == 422 and is_reused(response):
            return False
        if "`Idempotency-Key` in header - string smaller than minLength" in failure.message:
            return case.headers.get("Idempotency-Key") != ""  # An empty header is an absent one.
        # A call for many users answers 200, and for each of them by itself.
        if case.operation.path.endswith("/bulk/"):
            return not any(result["status"] == 400 for result in response.json()["results"])
        # "" in an optional member or query parameter means that it is absent, also where it has a format or an enum.
        if "not matching the 'idn-email' format" in failure.message:
            return case.body.get("email") != ""
        if "in query - violates `enum`" in failure.message:
            return "" not in case.query.values()
    return True
