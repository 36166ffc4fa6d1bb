from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx

from ... import errors
from ...client import AuthenticatedClient, Client
from ...models.application_membership import ApplicationMembership
from ...models.invalid_problem import InvalidProblem
from ...models.limited_problem import LimitedProblem
from ...models.problem import Problem
from ...types import UNSET, Response, Unset


def _get_kwargs(
    org: str,
    prj: str,
    app: str,
    *,
    limit: int | Unset = UNSET,
    after: int | Unset = UNSET,
    total: bool | Unset = UNSET,
    filter_digest: str | Unset = UNSET,
    username: str | Unset = UNSET,
    email: str | Unset = UNSET,
    active: bool | Unset = UNSET,
    locked: bool | Unset = UNSET,
    enable_notifications: bool | Unset = UNSET,
) -> dict[str, Any]:
    params: dict[str, Any] = {}

    params["limit"] = limit

    params["after"] = after

    params["total"] = total

    params["filter_digest"] = filter_digest

    params["username"] = username

    params["email"] = email

    params["active"] = active

    params["locked"] = locked

    params["enable_notifications"] = enable_notifications

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/api/o/{org}/p/{prj}/a/{app}/m/".format(
            org=quote(str(org), safe=""),
            prj=quote(str(prj), safe=""),
            app=quote(str(app), safe=""),
        ),
        "params": params,
    }

    return _kwargs


def _parse_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> InvalidProblem | LimitedProblem | Problem | list[ApplicationMembership] | None:
    if response.status_code == 200:
        response_200 = []
        _response_200 = response.json()
        for response_200_item_data in _response_200:
            response_200_item = ApplicationMembership.from_dict(response_200_item_data)

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
) -> Response[InvalidProblem | LimitedProblem | Problem | list[ApplicationMembership]]:
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
    *,
    client: AuthenticatedClient,
    limit: int | Unset = UNSET,
    after: int | Unset = UNSET,
    total: bool | Unset = UNSET,
    filter_digest: str | Unset = UNSET,
    username: str | Unset = UNSET,
    email: str | Unset = UNSET,
    active: bool | Unset = UNSET,
    locked: bool | Unset = UNSET,
    enable_notifications: bool | Unset = UNSET,
) -> Response[InvalidProblem | LimitedProblem | Problem | list[ApplicationMembership]]:
    """List who is registered with an application

     The users who are registered with the application, by id, with what it records about each.

    Args:
        org (str):
        prj (str):
        app (str):
        limit (int | Unset):
        after (int | Unset):
        total (bool | Unset):
        filter_digest (str | Unset):
        username (str | Unset):
        email (str | Unset):
        active (bool | Unset):
        locked (bool | Unset):
        enable_notifications (bool | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[InvalidProblem | LimitedProblem | Problem | list[ApplicationMembership]]
    """

    kwargs = _get_kwargs(
        org=org,
        prj=prj,
        app=app,
        limit=limit,
        after=after,
        total=total,
        filter_digest=filter_digest,
        username=username,
        email=email,
        active=active,
        locked=locked,
        enable_notifications=enable_notifications,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    org: str,
    prj: str,
    app: str,
    *,
    client: AuthenticatedClient,
    limit: int | Unset = UNSET,
    after: int | Unset = UNSET,
    total: bool | Unset = UNSET,
    filter_digest: str | Unset = UNSET,
    username: str | Unset = UNSET,
    email: str | Unset = UNSET,
    active: bool | Unset = UNSET,
    locked: bool | Unset = UNSET,
    enable_notifications: bool | Unset = UNSET,
) -> InvalidProblem | LimitedProblem | Problem | list[ApplicationMembership] | None:
    """List who is registered with an application

     The users who are registered with the application, by id, with what it records about each.

    Args:
        org (str):
        prj (str):
        app (str):
        limit (int | Unset):
        after (int | Unset):
        total (bool | Unset):
        filter_digest (str | Unset):
        username (str | Unset):
        email (str | Unset):
        active (bool | Unset):
        locked (bool | Unset):
        enable_notifications (bool | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        InvalidProblem | LimitedProblem | Problem | list[ApplicationMembership]
    """

    return sync_detailed(
        org=org,
        prj=prj,
        app=app,
        client=client,
        limit=limit,
        after=after,
        total=total,
        filter_digest=filter_digest,
        username=username,
        email=email,
        active=active,
        locked=locked,
        enable_notifications=enable_notifications,
    ).parsed


async def asyncio_detailed(
    org: str,
    prj: str,
    app: str,
    *,
    client: AuthenticatedClient,
    limit: int | Unset = UNSET,
    after: int | Unset = UNSET,
    total: bool | Unset = UNSET,
    filter_digest: str | Unset = UNSET,
    username: str | Unset = UNSET,
    email: str | Unset = UNSET,
    active: bool | Unset = UNSET,
    locked: bool | Unset = UNSET,
    enable_notifications: bool | Unset = UNSET,
) -> Response[InvalidProblem | LimitedProblem | Problem | list[ApplicationMembership]]:
    """List who is registered with an application

     The users who are registered with the application, by id, with what it records about each.

    Args:
        org (str):
        prj (str):
        app (str):
        limit (int | Unset):
        after (int | Unset):
        total (bool | Unset):
        filter_digest (str | Unset):
        username (str | Unset):
        email (str | Unset):
        active (bool | Unset):
        locked (bool | Unset):
        enable_notifications (bool | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[InvalidProblem | LimitedProblem | Problem | list[ApplicationMembership]]
    """

    kwargs = _get_kwargs(
        org=org,
        prj=prj,
        app=app,
        limit=limit,
        after=after,
        total=total,
        filter_digest=filter_digest,
        username=username,
        email=email,
        active=active,
        locked=locked,
        enable_notifications=enable_notifications,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    org: str,
    prj: str,
    app: str,
    *,
    client: AuthenticatedClient,
    limit: int | Unset = UNSET,
    after: int | Unset = UNSET,
    total: bool | Unset = UNSET,
    filter_digest: str | Unset = UNSET,
    username: str | Unset = UNSET,
    email: str | Unset = UNSET,
    active: bool | Unset = UNSET,
    locked: bool | Unset = UNSET,
    enable_notifications: bool | Unset = UNSET,
) -> InvalidProblem | LimitedProblem | Problem | list[ApplicationMembership] | None:
    """List who is registered with an application

     The users who are registered with the application, by id, with what it records about each.

    Args:
        org (str):
        prj (str):
        app (str):
        limit (int | Unset):
        after (int | Unset):
        total (bool | Unset):
        filter_digest (str | Unset):
        username (str | Unset):
        email (str | Unset):
        active (bool | Unset):
        locked (bool | Unset):
        enable_notifications (bool | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        InvalidProblem | LimitedProblem | Problem | list[ApplicationMembership]
    """

    return (
        await asyncio_detailed(
            org=org,
            prj=prj,
            app=app,
            client=client,
            limit=limit,
            after=after,
            total=total,
            filter_digest=filter_digest,
            username=username,
            email=email,
            active=active,
            locked=locked,
            enable_notifications=enable_notifications,
        )
    ).parsed
