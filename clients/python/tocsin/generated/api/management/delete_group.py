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
from ...types import UNSET, Response, Unset


def _get_kwargs(
    org: str,
    group: int,
    *,
    if_match: str | Unset = UNSET,
) -> dict[str, Any]:
    headers: dict[str, Any] = {}
    if not isinstance(if_match, Unset):
        headers["If-Match"] = if_match

    _kwargs: dict[str, Any] = {
        "method": "delete",
        "url": "/api/o/{org}/g/{group}/".format(
            org=quote(str(org), safe=""),
            group=quote(str(group), safe=""),
        ),
    }

    _kwargs["headers"] = headers
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

    if response.status_code == 412:
        response_412 = Problem.from_dict(response.json())

        return response_412

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
    group: int,
    *,
    client: AuthenticatedClient,
    if_match: str | Unset = UNSET,
) -> Response[Deleted | InvalidProblem | LimitedProblem | Problem]:
    """Delete a group

     A group with members, and the group `Default`, are refused with `400`.

    Args:
        org (str):
        group (int):
        if_match (str | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Deleted | InvalidProblem | LimitedProblem | Problem]
    """

    kwargs = _get_kwargs(
        org=org,
        group=group,
        if_match=if_match,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    org: str,
    group: int,
    *,
    client: AuthenticatedClient,
    if_match: str | Unset = UNSET,
) -> Deleted | InvalidProblem | LimitedProblem | Problem | None:
    """Delete a group

     A group with members, and the group `Default`, are refused with `400`.

    Args:
        org (str):
        group (int):
        if_match (str | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Deleted | InvalidProblem | LimitedProblem | Problem
    """

    return sync_detailed(
        org=org,
        group=group,
        client=client,
        if_match=if_match,
    ).parsed


async def asyncio_detailed(
    org: str,
    group: int,
    *,
    client: AuthenticatedClient,
    if_match: str | Unset = UNSET,
) -> Response[Deleted | InvalidProblem | LimitedProblem | Problem]:
    """Delete a group

     A group with members, and the group `Default`, are refused with `400`.

    Args:
        org (str):
        group (int):
        if_match (str | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Deleted | InvalidProblem | LimitedProblem | Problem]
    """

    kwargs = _get_kwargs(
        org=org,
        group=group,
        if_match=if_match,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    org: str,
    group: int,
    *,
    client: AuthenticatedClient,
    if_match: str | Unset = UNSET,
) -> Deleted | InvalidProblem | LimitedProblem | Problem | None:
    """Delete a group

     A group with members, and the group `Default`, are refused with `400`.

    Args:
        org (str):
        group (int):
        if_match (str | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Deleted | InvalidProblem | LimitedProblem | Problem
    """

    return (
        await asyncio_detailed(
            org=org,
            group=group,
            client=client,
            if_match=if_match,
        )
    ).parsed
