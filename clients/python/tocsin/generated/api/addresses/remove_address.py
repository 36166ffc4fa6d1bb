from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx

from ... import errors
from ...client import AuthenticatedClient, Client
from ...models.deleted import Deleted
from ...models.invalid_problem import InvalidProblem
from ...models.limited_problem import LimitedProblem
from ...models.problem import Problem
from ...types import Response


def _get_kwargs(
    org: str,
    username: str,
    id: int,
) -> dict[str, Any]:
    _kwargs: dict[str, Any] = {
        "method": "delete",
        "url": "/api/v1/user/{org}/{username}/address/{id}/".format(
            org=quote(str(org), safe=""),
            username=quote(str(username), safe=""),
            id=quote(str(id), safe=""),
        ),
    }

    return _kwargs


def _parse_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> Deleted | InvalidProblem | LimitedProblem | Problem | None:
    if response.status_code == 200:
        response_200 = Deleted.from_dict(response.json())

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
) -> Response[Deleted | InvalidProblem | LimitedProblem | Problem]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    org: str,
    username: str,
    id: int,
    *,
    client: AuthenticatedClient,
) -> Response[Deleted | InvalidProblem | LimitedProblem | Problem]:
    """Remove an address

     Removes an address with its assignments, their list entries and their subscriptions.

    Args:
        org (str):
        username (str):
        id (int):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Deleted | InvalidProblem | LimitedProblem | Problem]
    """

    kwargs = _get_kwargs(
        org=org,
        username=username,
        id=id,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    org: str,
    username: str,
    id: int,
    *,
    client: AuthenticatedClient,
) -> Deleted | InvalidProblem | LimitedProblem | Problem | None:
    """Remove an address

     Removes an address with its assignments, their list entries and their subscriptions.

    Args:
        org (str):
        username (str):
        id (int):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Deleted | InvalidProblem | LimitedProblem | Problem
    """

    return sync_detailed(
        org=org,
        username=username,
        id=id,
        client=client,
    ).parsed


async def asyncio_detailed(
    org: str,
    username: str,
    id: int,
    *,
    client: AuthenticatedClient,
) -> Response[Deleted | InvalidProblem | LimitedProblem | Problem]:
    """Remove an address

     Removes an address with its assignments, their list entries and their subscriptions.

    Args:
        org (str):
        username (str):
        id (int):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Deleted | InvalidProblem | LimitedProblem | Problem]
    """

    kwargs = _get_kwargs(
        org=org,
        username=username,
        id=id,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    org: str,
    username: str,
    id: int,
    *,
    client: AuthenticatedClient,
) -> Deleted | InvalidProblem | LimitedProblem | Problem | None:
    """Remove an address

     Removes an address with its assignments, their list entries and their subscriptions.

    Args:
        org (str):
        username (str):
        id (int):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Deleted | InvalidProblem | LimitedProblem | Problem
    """

    return (
        await asyncio_detailed(
            org=org,
            username=username,
            id=id,
            client=client,
        )
    ).parsed
