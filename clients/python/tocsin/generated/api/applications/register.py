from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx

from ... import errors
from ...client import AuthenticatedClient, Client
from ...models.invalid_problem import InvalidProblem
from ...models.limited_problem import LimitedProblem
from ...models.problem import Problem
from ...models.registered import Registered
from ...models.registration import Registration
from ...types import UNSET, Response, Unset


def _get_kwargs(
    org: str,
    prj: str,
    app: str,
    *,
    body: Registration,
    idempotency_key: str | Unset = UNSET,
) -> dict[str, Any]:
    headers: dict[str, Any] = {}
    if not isinstance(idempotency_key, Unset):
        headers["Idempotency-Key"] = idempotency_key

    _kwargs: dict[str, Any] = {
        "method": "post",
        "url": "/api/o/{org}/p/{prj}/a/{app}/register/".format(
            org=quote(str(org), safe=""),
            prj=quote(str(prj), safe=""),
            app=quote(str(app), safe=""),
        ),
    }

    _kwargs["json"] = body.to_dict()

    headers["Content-Type"] = "application/json"

    _kwargs["headers"] = headers
    return _kwargs


def _parse_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> InvalidProblem | LimitedProblem | Problem | Registered | None:
    if response.status_code == 200:
        response_200 = Registered.from_dict(response.json())

        return response_200

    if response.status_code == 201:
        response_201 = Registered.from_dict(response.json())

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
) -> Response[InvalidProblem | LimitedProblem | Problem | Registered]:
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
    body: Registration,
    idempotency_key: str | Unset = UNSET,
) -> Response[InvalidProblem | LimitedProblem | Problem | Registered]:
    """Register a user with an application

     Makes a user a member of the application; meant to be called by your application when a user signs
    up. It is idempotent:
    the same payload twice neither fails nor duplicates anything. Either everything of a call happens or
    nothing.

    The user is found by `username` and created when there is none. A user who is not a member of the
    organization becomes one,
    with the names and the e-mail address of this payload; an existing member is never updated. `user`
    of the answer is what
    this organization recorded. `active` is set by every call, also when it is absent. `locked` and
    `enable_notifications` are never touched.

    `addresses`, `assignments` and `skipped` of the answer speak of the addresses in this payload, in
    their order, whether they
    are new or not.

    Args:
        org (str):
        prj (str):
        app (str):
        idempotency_key (str | Unset):
        body (Registration):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[InvalidProblem | LimitedProblem | Problem | Registered]
    """

    kwargs = _get_kwargs(
        org=org,
        prj=prj,
        app=app,
        body=body,
        idempotency_key=idempotency_key,
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
    body: Registration,
    idempotency_key: str | Unset = UNSET,
) -> InvalidProblem | LimitedProblem | Problem | Registered | None:
    """Register a user with an application

     Makes a user a member of the application; meant to be called by your application when a user signs
    up. It is idempotent:
    the same payload twice neither fails nor duplicates anything. Either everything of a call happens or
    nothing.

    The user is found by `username` and created when there is none. A user who is not a member of the
    organization becomes one,
    with the names and the e-mail address of this payload; an existing member is never updated. `user`
    of the answer is what
    this organization recorded. `active` is set by every call, also when it is absent. `locked` and
    `enable_notifications` are never touched.

    `addresses`, `assignments` and `skipped` of the answer speak of the addresses in this payload, in
    their order, whether they
    are new or not.

    Args:
        org (str):
        prj (str):
        app (str):
        idempotency_key (str | Unset):
        body (Registration):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        InvalidProblem | LimitedProblem | Problem | Registered
    """

    return sync_detailed(
        org=org,
        prj=prj,
        app=app,
        client=client,
        body=body,
        idempotency_key=idempotency_key,
    ).parsed


async def asyncio_detailed(
    org: str,
    prj: str,
    app: str,
    *,
    client: AuthenticatedClient,
    body: Registration,
    idempotency_key: str | Unset = UNSET,
) -> Response[InvalidProblem | LimitedProblem | Problem | Registered]:
    """Register a user with an application

     Makes a user a member of the application; meant to be called by your application when a user signs
    up. It is idempotent:
    the same payload twice neither fails nor duplicates anything. Either everything of a call happens or
    nothing.

    The user is found by `username` and created when there is none. A user who is not a member of the
    organization becomes one,
    with the names and the e-mail address of this payload; an existing member is never updated. `user`
    of the answer is what
    this organization recorded. `active` is set by every call, also when it is absent. `locked` and
    `enable_notifications` are never touched.

    `addresses`, `assignments` and `skipped` of the answer speak of the addresses in this payload, in
    their order, whether they
    are new or not.

    Args:
        org (str):
        prj (str):
        app (str):
        idempotency_key (str | Unset):
        body (Registration):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[InvalidProblem | LimitedProblem | Problem | Registered]
    """

    kwargs = _get_kwargs(
        org=org,
        prj=prj,
        app=app,
        body=body,
        idempotency_key=idempotency_key,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    org: str,
    prj: str,
    app: str,
    *,
    client: AuthenticatedClient,
    body: Registration,
    idempotency_key: str | Unset = UNSET,
) -> InvalidProblem | LimitedProblem | Problem | Registered | None:
    """Register a user with an application

     Makes a user a member of the application; meant to be called by your application when a user signs
    up. It is idempotent:
    the same payload twice neither fails nor duplicates anything. Either everything of a call happens or
    nothing.

    The user is found by `username` and created when there is none. A user who is not a member of the
    organization becomes one,
    with the names and the e-mail address of this payload; an existing member is never updated. `user`
    of the answer is what
    this organization recorded. `active` is set by every call, also when it is absent. `locked` and
    `enable_notifications` are never touched.

    `addresses`, `assignments` and `skipped` of the answer speak of the addresses in this payload, in
    their order, whether they
    are new or not.

    Args:
        org (str):
        prj (str):
        app (str):
        idempotency_key (str | Unset):
        body (Registration):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        InvalidProblem | LimitedProblem | Problem | Registered
    """

    return (
        await asyncio_detailed(
            org=org,
            prj=prj,
            app=app,
            client=client,
            body=body,
            idempotency_key=idempotency_key,
        )
    ).parsed
