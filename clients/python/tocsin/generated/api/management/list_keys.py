from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx

from ... import errors
from ...client import AuthenticatedClient, Client
from ...models.invalid_problem import InvalidProblem
from ...models.key import Key
from ...models.limited_problem import LimitedProblem
from ...models.list_keys_state import ListKeysState
from ...models.problem import Problem
from ...types import UNSET, Response, Unset


def _get_kwargs(
    org: str,
    *,
    limit: int | Unset = UNSET,
    after: int | Unset = UNSET,
    total: bool | Unset = UNSET,
    filter_digest: str | Unset = UNSET,
    name: str | Unset = UNSET,
    state: ListKeysState | Unset = UNSET,
) -> dict[str, Any]:
    params: dict[str, Any] = {}

    params["limit"] = limit

    params["after"] = after

    params["total"] = total

    params["filter_digest"] = filter_digest

    params["name"] = name

    json_state: str | Unset = UNSET
    if not isinstance(state, Unset):
        json_state = state.value

    params["state"] = json_state

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/api/o/{org}/k/".format(
            org=quote(str(org), safe=""),
        ),
        "params": params,
    }

    return _kwargs


def _parse_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> InvalidProblem | LimitedProblem | Problem | list[Key] | None:
    if response.status_code == 200:
        response_200 = []
        _response_200 = response.json()
        for response_200_item_data in _response_200:
            response_200_item = Key.from_dict(response_200_item_data)

            response_200.append(response_200_item)

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
) -> Response[InvalidProblem | LimitedProblem | Problem | list[Key]]:
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
    limit: int | Unset = UNSET,
    after: int | Unset = UNSET,
    total: bool | Unset = UNSET,
    filter_digest: str | Unset = UNSET,
    name: str | Unset = UNSET,
    state: ListKeysState | Unset = UNSET,
) -> Response[InvalidProblem | LimitedProblem | Problem | list[Key]]:
    """List API keys

     Those that are limited to the organization, or to one of its projects or applications; revoked and
    expired ones too. The keys
    themselves are kept nowhere.

    Args:
        org (str):
        limit (int | Unset):
        after (int | Unset):
        total (bool | Unset):
        filter_digest (str | Unset):
        name (str | Unset):
        state (ListKeysState | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[InvalidProblem | LimitedProblem | Problem | list[Key]]
    """

    kwargs = _get_kwargs(
        org=org,
        limit=limit,
        after=after,
        total=total,
        filter_digest=filter_digest,
        name=name,
        state=state,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    org: str,
    *,
    client: AuthenticatedClient,
    limit: int | Unset = UNSET,
    after: int | Unset = UNSET,
    total: bool | Unset = UNSET,
    filter_digest: str | Unset = UNSET,
    name: str | Unset = UNSET,
    state: ListKeysState | Unset = UNSET,
) -> InvalidProblem | LimitedProblem | Problem | list[Key] | None:
    """List API keys

     Those that are limited to the organization, or to one of its projects or applications; revoked and
    expired ones too. The keys
    themselves are kept nowhere.

    Args:
        org (str):
        limit (int | Unset):
        after (int | Unset):
        total (bool | Unset):
        filter_digest (str | Unset):
        name (str | Unset):
        state (ListKeysState | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        InvalidProblem | LimitedProblem | Problem | list[Key]
    """

    return sync_detailed(
        org=org,
        client=client,
        limit=limit,
        after=after,
        total=total,
        filter_digest=filter_digest,
        name=name,
        state=state,
    ).parsed


async def asyncio_detailed(
    org: str,
    *,
    client: AuthenticatedClient,
    limit: int | Unset = UNSET,
    after: int | Unset = UNSET,
    total: bool | Unset = UNSET,
    filter_digest: str | Unset = UNSET,
    name: str | Unset = UNSET,
    state: ListKeysState | Unset = UNSET,
) -> Response[InvalidProblem | LimitedProblem | Problem | list[Key]]:
    """List API keys

     Those that are limited to the organization, or to one of its projects or applications; revoked and
    expired ones too. The keys
    themselves are kept nowhere.

    Args:
        org (str):
        limit (int | Unset):
        after (int | Unset):
        total (bool | Unset):
        filter_digest (str | Unset):
        name (str | Unset):
        state (ListKeysState | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[InvalidProblem | LimitedProblem | Problem | list[Key]]
    """

    kwargs = _get_kwargs(
        org=org,
        limit=limit,
        after=after,
        total=total,
        filter_digest=filter_digest,
        name=name,
        state=state,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    org: str,
    *,
    client: AuthenticatedClient,
    limit: int | Unset = UNSET,
    after: int | Unset = UNSET,
    total: bool | Unset = UNSET,
    filter_digest: str | Unset = UNSET,
    name: str | Unset = UNSET,
    state: ListKeysState | Unset = UNSET,
) -> InvalidProblem | LimitedProblem | Problem | list[Key] | None:
    """List API keys

     Those that are limited to the organization, or to one of its projects or applications; revoked and
    expired ones too. The keys
    themselves are kept nowhere.

    Args:
        org (str):
        limit (int | Unset):
        after (int | Unset):
        total (bool | Unset):
        filter_digest (str | Unset):
        name (str | Unset):
        state (ListKeysState | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        InvalidProblem | LimitedProblem | Problem | list[Key]
    """

    return (
        await asyncio_detailed(
            org=org,
            client=client,
            limit=limit,
            after=after,
            total=total,
            filter_digest=filter_digest,
            name=name,
            state=state,
        )
    ).parsed
