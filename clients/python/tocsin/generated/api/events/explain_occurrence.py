from http import HTTPStatus
from typing import Any, cast
from urllib.parse import quote

import httpx

from ... import errors
from ...client import AuthenticatedClient, Client
from ...models.explanation import Explanation
from ...models.invalid_problem import InvalidProblem
from ...models.limited_problem import LimitedProblem
from ...models.problem import Problem
from ...types import UNSET, Response, Unset


def _get_kwargs(
    org: str,
    prj: str,
    app: str,
    id: int,
    *,
    user: str,
    if_none_match: str | Unset = UNSET,
) -> dict[str, Any]:
    headers: dict[str, Any] = {}
    if not isinstance(if_none_match, Unset):
        headers["If-None-Match"] = if_none_match

    params: dict[str, Any] = {}

    params["user"] = user

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/api/o/{org}/p/{prj}/a/{app}/occurrences/{id}/explain/".format(
            org=quote(str(org), safe=""),
            prj=quote(str(prj), safe=""),
            app=quote(str(app), safe=""),
            id=quote(str(id), safe=""),
        ),
        "params": params,
    }

    _kwargs["headers"] = headers
    return _kwargs


def _parse_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> Any | Explanation | InvalidProblem | LimitedProblem | Problem | None:
    if response.status_code == 200:
        response_200 = Explanation.from_dict(response.json())

        return response_200

    if response.status_code == 304:
        response_304 = cast(Any, None)
        return response_304

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
) -> Response[Any | Explanation | InvalidProblem | LimitedProblem | Problem]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    org: str,
    prj: str,
    app: str,
    id: int,
    *,
    client: AuthenticatedClient,
    user: str,
    if_none_match: str | Unset = UNSET,
) -> Response[Any | Explanation | InvalidProblem | LimitedProblem | Problem]:
    """Explain why a user did or did not get an occurrence

     Every assignment by which a notification could reach the user, gate by gate, in their present state.

    Args:
        org (str):
        prj (str):
        app (str):
        id (int):
        user (str):
        if_none_match (str | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Any | Explanation | InvalidProblem | LimitedProblem | Problem]
    """

    kwargs = _get_kwargs(
        org=org,
        prj=prj,
        app=app,
        id=id,
        user=user,
        if_none_match=if_none_match,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    org: str,
    prj: str,
    app: str,
    id: int,
    *,
    client: AuthenticatedClient,
    user: str,
    if_none_match: str | Unset = UNSET,
) -> Any | Explanation | InvalidProblem | LimitedProblem | Problem | None:
    """Explain why a user did or did not get an occurrence

     Every assignment by which a notification could reach the user, gate by gate, in their present state.

    Args:
        org (str):
        prj (str):
        app (str):
        id (int):
        user (str):
        if_none_match (str | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Any | Explanation | InvalidProblem | LimitedProblem | Problem
    """

    return sync_detailed(
        org=org,
        prj=prj,
        app=app,
        id=id,
        client=client,
        user=user,
        if_none_match=if_none_match,
    ).parsed


async def asyncio_detailed(
    org: str,
    prj: str,
    app: str,
    id: int,
    *,
    client: AuthenticatedClient,
    user: str,
    if_none_match: str | Unset = UNSET,
) -> Response[Any | Explanation | InvalidProblem | LimitedProblem | Problem]:
    """Explain why a user did or did not get an occurrence

     Every assignment by which a notification could reach the user, gate by gate, in their present state.

    Args:
        org (str):
        prj (str):
        app (str):
        id (int):
        user (str):
        if_none_match (str | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Any | Explanation | InvalidProblem | LimitedProblem | Problem]
    """

    kwargs = _get_kwargs(
        org=org,
        prj=prj,
        app=app,
        id=id,
        user=user,
        if_none_match=if_none_match,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    org: str,
    prj: str,
    app: str,
    id: int,
    *,
    client: AuthenticatedClient,
    user: str,
    if_none_match: str | Unset = UNSET,
) -> Any | Explanation | InvalidProblem | LimitedProblem | Problem | None:
    """Explain why a user did or did not get an occurrence

     Every assignment by which a notification could reach the user, gate by gate, in their present state.

    Args:
        org (str):
        prj (str):
        app (str):
        id (int):
        user (str):
        if_none_match (str | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Any | Explanation | InvalidProblem | LimitedProblem | Problem
    """

    return (
        await asyncio_detailed(
            org=org,
            prj=prj,
            app=app,
            id=id,
            client=client,
            user=user,
            if_none_match=if_none_match,
        )
    ).parsed
