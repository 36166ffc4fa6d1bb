from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx

from ... import errors
from ...client import AuthenticatedClient, Client
from ...models.invalid_problem import InvalidProblem
from ...models.key import Key
from ...models.key_patch import KeyPatch
from ...models.limited_problem import LimitedProblem
from ...models.problem import Problem
from ...types import UNSET, Response, Unset


def _get_kwargs(
    org: str,
    key: int,
    *,
    body: KeyPatch,
    if_match: str | Unset = UNSET,
) -> dict[str, Any]:
    headers: dict[str, Any] = {}
    if not isinstance(if_match, Unset):
        headers["If-Match"] = if_match

    _kwargs: dict[str, Any] = {
        "method": "patch",
        "url": "/api/o/{org}/k/{key}/".format(
            org=quote(str(org), safe=""),
            key=quote(str(key), safe=""),
        ),
    }

    _kwargs["json"] = body.to_dict()

    headers["Content-Type"] = "application/json"

    _kwargs["headers"] = headers
    return _kwargs


def _parse_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> InvalidProblem | Key | LimitedProblem | Problem | None:
    if response.status_code == 200:
        response_200 = Key.from_dict(response.json())

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

    if response.status_code == 412:
        response_412 = Problem.from_dict(response.json())

        return response_412

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
) -> Response[InvalidProblem | Key | LimitedProblem | Problem]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    org: str,
    key: int,
    *,
    client: AuthenticatedClient,
    body: KeyPatch,
    if_match: str | Unset = UNSET,
) -> Response[InvalidProblem | Key | LimitedProblem | Problem]:
    """Change an API key

     What is not sent, or `null`, stays as it is, but for `expires`, where `null` stands for never. What
    the key is limited to never changes.
    Neither as it is nor as it will be may it do more than the key that changes it: `403`. A key that is
    revoked, expired or replaced is refused
    with `400`. Instances that run follow within five seconds.

    Args:
        org (str):
        key (int):
        if_match (str | Unset):
        body (KeyPatch):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[InvalidProblem | Key | LimitedProblem | Problem]
    """

    kwargs = _get_kwargs(
        org=org,
        key=key,
        body=body,
        if_match=if_match,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    org: str,
    key: int,
    *,
    client: AuthenticatedClient,
    body: KeyPatch,
    if_match: str | Unset = UNSET,
) -> InvalidProblem | Key | LimitedProblem | Problem | None:
    """Change an API key

     What is not sent, or `null`, stays as it is, but for `expires`, where `null` stands for never. What
    the key is limited to never changes.
    Neither as it is nor as it will be may it do more than the key that changes it: `403`. A key that is
    revoked, expired or replaced is refused
    with `400`. Instances that run follow within five seconds.

    Args:
        org (str):
        key (int):
        if_match (str | Unset):
        body (KeyPatch):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        InvalidProblem | Key | LimitedProblem | Problem
    """

    return sync_detailed(
        org=org,
        key=key,
        client=client,
        body=body,
        if_match=if_match,
    ).parsed


async def asyncio_detailed(
    org: str,
    key: int,
    *,
    client: AuthenticatedClient,
    body: KeyPatch,
    if_match: str | Unset = UNSET,
) -> Response[InvalidProblem | Key | LimitedProblem | Problem]:
    """Change an API key

     What is not sent, or `null`, stays as it is, but for `expires`, where `null` stands for never. What
    the key is limited to never changes.
    Neither as it is nor as it will be may it do more than the key that changes it: `403`. A key that is
    revoked, expired or replaced is refused
    with `400`. Instances that run follow within five seconds.

    Args:
        org (str):
        key (int):
        if_match (str | Unset):
        body (KeyPatch):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[InvalidProblem | Key | LimitedProblem | Problem]
    """

    kwargs = _get_kwargs(
        org=org,
        key=key,
        body=body,
        if_match=if_match,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    org: str,
    key: int,
    *,
    client: AuthenticatedClient,
    body: KeyPatch,
    if_match: str | Unset = UNSET,
) -> InvalidProblem | Key | LimitedProblem | Problem | None:
    """Change an API key

     What is not sent, or `null`, stays as it is, but for `expires`, where `null` stands for never. What
    the key is limited to never changes.
    Neither as it is nor as it will be may it do more than the key that changes it: `403`. A key that is
    revoked, expired or replaced is refused
    with `400`. Instances that run follow within five seconds.

    Args:
        org (str):
        key (int):
        if_match (str | Unset):
        body (KeyPatch):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        InvalidProblem | Key | LimitedProblem | Problem
    """

    return (
        await asyncio_detailed(
            org=org,
            key=key,
            client=client,
            body=body,
            if_match=if_match,
        )
    ).parsed
