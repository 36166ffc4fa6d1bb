from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx

from ... import errors
from ...client import AuthenticatedClient, Client
from ...models.invalid_problem import InvalidProblem
from ...models.issued_key import IssuedKey
from ...models.key_rotation_input import KeyRotationInput
from ...models.limited_problem import LimitedProblem
from ...models.problem import Problem
from ...types import UNSET, Response, Unset


def _get_kwargs(
    org: str,
    key: int,
    *,
    body: KeyRotationInput | Unset = UNSET,
    idempotency_key: str | Unset = UNSET,
) -> dict[str, Any]:
    headers: dict[str, Any] = {}
    if not isinstance(idempotency_key, Unset):
        headers["Idempotency-Key"] = idempotency_key

    _kwargs: dict[str, Any] = {
        "method": "post",
        "url": "/api/o/{org}/k/{key}/rotate/".format(
            org=quote(str(org), safe=""),
            key=quote(str(key), safe=""),
        ),
    }

    if not isinstance(body, Unset):
        _kwargs["json"] = body.to_dict()

    headers["Content-Type"] = "application/json"

    _kwargs["headers"] = headers
    return _kwargs


def _parse_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> InvalidProblem | IssuedKey | LimitedProblem | Problem | None:
    if response.status_code == 201:
        response_201 = IssuedKey.from_dict(response.json())

        return response_201

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

    if response.status_code == 422:
        response_422 = Problem.from_dict(response.json())

        return response_422

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
) -> Response[InvalidProblem | IssuedKey | LimitedProblem | Problem]:
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
    body: KeyRotationInput | Unset = UNSET,
    idempotency_key: str | Unset = UNSET,
) -> Response[InvalidProblem | IssuedKey | LimitedProblem | Problem]:
    """Replace an API key

     Issues a key with the name, the scope, the grants and the lifetime of this one; it ends no later
    than the key that asks. This one goes on for the
    overlap and then ends by itself. A key that may do more than the one that asks is refused with
    `403`. A repetition with the same
    `Idempotency-Key` is answered `409`, without the token.

    Args:
        org (str):
        key (int):
        idempotency_key (str | Unset):
        body (KeyRotationInput | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[InvalidProblem | IssuedKey | LimitedProblem | Problem]
    """

    kwargs = _get_kwargs(
        org=org,
        key=key,
        body=body,
        idempotency_key=idempotency_key,
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
    body: KeyRotationInput | Unset = UNSET,
    idempotency_key: str | Unset = UNSET,
) -> InvalidProblem | IssuedKey | LimitedProblem | Problem | None:
    """Replace an API key

     Issues a key with the name, the scope, the grants and the lifetime of this one; it ends no later
    than the key that asks. This one goes on for the
    overlap and then ends by itself. A key that may do more than the one that asks is refused with
    `403`. A repetition with the same
    `Idempotency-Key` is answered `409`, without the token.

    Args:
        org (str):
        key (int):
        idempotency_key (str | Unset):
        body (KeyRotationInput | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        InvalidProblem | IssuedKey | LimitedProblem | Problem
    """

    return sync_detailed(
        org=org,
        key=key,
        client=client,
        body=body,
        idempotency_key=idempotency_key,
    ).parsed


async def asyncio_detailed(
    org: str,
    key: int,
    *,
    client: AuthenticatedClient,
    body: KeyRotationInput | Unset = UNSET,
    idempotency_key: str | Unset = UNSET,
) -> Response[InvalidProblem | IssuedKey | LimitedProblem | Problem]:
    """Replace an API key

     Issues a key with the name, the scope, the grants and the lifetime of this one; it ends no later
    than the key that asks. This one goes on for the
    overlap and then ends by itself. A key that may do more than the one that asks is refused with
    `403`. A repetition with the same
    `Idempotency-Key` is answered `409`, without the token.

    Args:
        org (str):
        key (int):
        idempotency_key (str | Unset):
        body (KeyRotationInput | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[InvalidProblem | IssuedKey | LimitedProblem | Problem]
    """

    kwargs = _get_kwargs(
        org=org,
        key=key,
        body=body,
        idempotency_key=idempotency_key,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    org: str,
    key: int,
    *,
    client: AuthenticatedClient,
    body: KeyRotationInput | Unset = UNSET,
    idempotency_key: str | Unset = UNSET,
) -> InvalidProblem | IssuedKey | LimitedProblem | Problem | None:
    """Replace an API key

     Issues a key with the name, the scope, the grants and the lifetime of this one; it ends no later
    than the key that asks. This one goes on for the
    overlap and then ends by itself. A key that may do more than the one that asks is refused with
    `403`. A repetition with the same
    `Idempotency-Key` is answered `409`, without the token.

    Args:
        org (str):
        key (int):
        idempotency_key (str | Unset):
        body (KeyRotationInput | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        InvalidProblem | IssuedKey | LimitedProblem | Problem
    """

    return (
        await asyncio_detailed(
            org=org,
            key=key,
            client=client,
            body=body,
            idempotency_key=idempotency_key,
        )
    ).parsed
