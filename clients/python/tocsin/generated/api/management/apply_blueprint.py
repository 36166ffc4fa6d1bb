from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx

from ... import errors
from ...client import AuthenticatedClient, Client
from ...models.applied_blueprint import AppliedBlueprint
from ...models.blueprint_input import BlueprintInput
from ...models.invalid_problem import InvalidProblem
from ...models.limited_problem import LimitedProblem
from ...models.problem import Problem
from ...types import UNSET, Response, Unset


def _get_kwargs(
    org: str,
    *,
    body: BlueprintInput | BlueprintInput | Unset = UNSET,
    dry_run: bool | Unset = UNSET,
) -> dict[str, Any]:
    headers: dict[str, Any] = {}

    params: dict[str, Any] = {}

    params["dry_run"] = dry_run

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "put",
        "url": "/api/o/{org}/blueprint/".format(
            org=quote(str(org), safe=""),
        ),
        "params": params,
    }

    if isinstance(body, BlueprintInput):
        _kwargs["json"] = body.to_dict()

        headers["Content-Type"] = "application/yaml"
    if isinstance(body, BlueprintInput):
        _kwargs["json"] = body.to_dict()

        headers["Content-Type"] = "application/json"

    _kwargs["headers"] = headers
    return _kwargs


def _parse_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> AppliedBlueprint | InvalidProblem | LimitedProblem | Problem | None:
    if response.status_code == 200:
        response_200 = AppliedBlueprint.from_dict(response.json())

        return response_200

    if response.status_code == 400:
        response_400 = InvalidProblem.from_dict(response.json())

        return response_400

    if response.status_code == 401:
        response_401 = Problem.from_dict(response.json())

        return response_401

    if response.status_code == 403:
        response_403 = Problem.from_dict(response.json())

        return response_403

    if response.status_code == 404:
        response_404 = Problem.from_dict(response.json())

        return response_404

    if response.status_code == 409:
        response_409 = Problem.from_dict(response.json())

        return response_409

    if response.status_code == 413:
        response_413 = LimitedProblem.from_dict(response.json())

        return response_413

    if response.status_code == 415:
        response_415 = Problem.from_dict(response.json())

        return response_415

    if response.status_code == 429:
        response_429 = LimitedProblem.from_dict(response.json())

        return response_429

    if response.status_code == 500:
        response_500 = Problem.from_dict(response.json())

        return response_500

    if response.status_code == 503:
        response_503 = Problem.from_dict(response.json())

        return response_503

    if client.raise_on_unexpected_status:
        raise errors.UnexpectedStatus(response.status_code, response.content)
    else:
        return None


def _build_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> Response[AppliedBlueprint | InvalidProblem | LimitedProblem | Problem]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    org: str,
    *,
    client: AuthenticatedClient,
    body: BlueprintInput | BlueprintInput | Unset = UNSET,
    dry_run: bool | Unset = UNSET,
) -> Response[AppliedBlueprint | InvalidProblem | LimitedProblem | Problem]:
    """Apply a blueprint

     Does what `tocsin apply` does, for this organization: creates missing objects, updates those that
    differ, deletes nothing. All of it or,
    when anything is wrong, nothing is applied; applying a blueprint again changes nothing. The body is
    the file, as YAML or as JSON.

    `organizations` must hold this organization alone, which must exist. `quotas` and
    `require_second_factor` are refused, and so are
    variables such as `${NAME}`: the environment of the service stays private. Channels that a key
    describes reach public
    addresses alone. A blueprint describes at most 2,000 objects, where each channel that an event names
    counts as one; a larger one is `400`.

    With `dry_run=true` the answer is the same and nothing is stored; objects that would be created have
    the id 0. Dry runs count against
    the organization's `dry_run_limit`, together with those of triggers: one too many is `429`.

    Args:
        org (str):
        dry_run (bool | Unset):
        body (BlueprintInput): What `tocsin apply` reads. docs/management.md lists the members.
        body (BlueprintInput): What `tocsin apply` reads. docs/management.md lists the members.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[AppliedBlueprint | InvalidProblem | LimitedProblem | Problem]
    """

    kwargs = _get_kwargs(
        org=org,
        body=body,
        dry_run=dry_run,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    org: str,
    *,
    client: AuthenticatedClient,
    body: BlueprintInput | BlueprintInput | Unset = UNSET,
    dry_run: bool | Unset = UNSET,
) -> AppliedBlueprint | InvalidProblem | LimitedProblem | Problem | None:
    """Apply a blueprint

     Does what `tocsin apply` does, for this organization: creates missing objects, updates those that
    differ, deletes nothing. All of it or,
    when anything is wrong, nothing is applied; applying a blueprint again changes nothing. The body is
    the file, as YAML or as JSON.

    `organizations` must hold this organization alone, which must exist. `quotas` and
    `require_second_factor` are refused, and so are
    variables such as `${NAME}`: the environment of the service stays private. Channels that a key
    describes reach public
    addresses alone. A blueprint describes at most 2,000 objects, where each channel that an event names
    counts as one; a larger one is `400`.

    With `dry_run=true` the answer is the same and nothing is stored; objects that would be created have
    the id 0. Dry runs count against
    the organization's `dry_run_limit`, together with those of triggers: one too many is `429`.

    Args:
        org (str):
        dry_run (bool | Unset):
        body (BlueprintInput): What `tocsin apply` reads. docs/management.md lists the members.
        body (BlueprintInput): What `tocsin apply` reads. docs/management.md lists the members.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        AppliedBlueprint | InvalidProblem | LimitedProblem | Problem
    """

    return sync_detailed(
        org=org,
        client=client,
        body=body,
        dry_run=dry_run,
    ).parsed


async def asyncio_detailed(
    org: str,
    *,
    client: AuthenticatedClient,
    body: BlueprintInput | BlueprintInput | Unset = UNSET,
    dry_run: bool | Unset = UNSET,
) -> Response[AppliedBlueprint | InvalidProblem | LimitedProblem | Problem]:
    """Apply a blueprint

     Does what `tocsin apply` does, for this organization: creates missing objects, updates those that
    differ, deletes nothing. All of it or,
    when anything is wrong, nothing is applied; applying a blueprint again changes nothing. The body is
    the file, as YAML or as JSON.

    `organizations` must hold this organization alone, which must exist. `quotas` and
    `require_second_factor` are refused, and so are
    variables such as `${NAME}`: the environment of the service stays private. Channels that a key
    describes reach public
    addresses alone. A blueprint describes at most 2,000 objects, where each channel that an event names
    counts as one; a larger one is `400`.

    With `dry_run=true` the answer is the same and nothing is stored; objects that would be created have
    the id 0. Dry runs count against
    the organization's `dry_run_limit`, together with those of triggers: one too many is `429`.

    Args:
        org (str):
        dry_run (bool | Unset):
        body (BlueprintInput): What `tocsin apply` reads. docs/management.md lists the members.
        body (BlueprintInput): What `tocsin apply` reads. docs/management.md lists the members.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[AppliedBlueprint | InvalidProblem | LimitedProblem | Problem]
    """

    kwargs = _get_kwargs(
        org=org,
        body=body,
        dry_run=dry_run,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    org: str,
    *,
    client: AuthenticatedClient,
    body: BlueprintInput | BlueprintInput | Unset = UNSET,
    dry_run: bool | Unset = UNSET,
) -> AppliedBlueprint | InvalidProblem | LimitedProblem | Problem | None:
    """Apply a blueprint

     Does what `tocsin apply` does, for this organization: creates missing objects, updates those that
    differ, deletes nothing. All of it or,
    when anything is wrong, nothing is applied; applying a blueprint again changes nothing. The body is
    the file, as YAML or as JSON.

    `organizations` must hold this organization alone, which must exist. `quotas` and
    `require_second_factor` are refused, and so are
    variables such as `${NAME}`: the environment of the service stays private. Channels that a key
    describes reach public
    addresses alone. A blueprint describes at most 2,000 objects, where each channel that an event names
    counts as one; a larger one is `400`.

    With `dry_run=true` the answer is the same and nothing is stored; objects that would be created have
    the id 0. Dry runs count against
    the organization's `dry_run_limit`, together with those of triggers: one too many is `429`.

    Args:
        org (str):
        dry_run (bool | Unset):
        body (BlueprintInput): What `tocsin apply` reads. docs/management.md lists the members.
        body (BlueprintInput): What `tocsin apply` reads. docs/management.md lists the members.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        AppliedBlueprint | InvalidProblem | LimitedProblem | Problem
    """

    return (
        await asyncio_detailed(
            org=org,
            client=client,
            body=body,
            dry_run=dry_run,
        )
    ).parsed
