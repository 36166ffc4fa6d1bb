from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx

from ... import errors
from ...client import AuthenticatedClient, Client
from ...models.invalid_problem import InvalidProblem
from ...models.limited_problem import LimitedProblem
from ...models.problem import Problem
from ...models.subscription import Subscription
from ...models.unsubscription_input import UnsubscriptionInput
from ...types import UNSET, Response, Unset


def _get_kwargs(
    org: str,
    prj: str,
    app: str,
    notification_pk: int,
    *,
    body: UnsubscriptionInput | Unset = UNSET,
    assignment: int | Unset = UNSET,
) -> dict[str, Any]:
    headers: dict[str, Any] = {}

    params: dict[str, Any] = {}

    params["assignment"] = assignment

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "delete",
        "url": "/api/o/{org}/p/{prj}/a/{app}/n/{notification_pk}/subscribe/".format(
            org=quote(str(org), safe=""),
            prj=quote(str(prj), safe=""),
            app=quote(str(app), safe=""),
            notification_pk=quote(str(notification_pk), safe=""),
        ),
        "params": params,
    }

    if not isinstance(body, Unset):
        _kwargs["json"] = body.to_dict()

    headers["Content-Type"] = "application/json"

    _kwargs["headers"] = headers
    return _kwargs


def _parse_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> InvalidProblem | LimitedProblem | Problem | Subscription | None:
    if response.status_code == 200:
        response_200 = Subscription.from_dict(response.json())

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
) -> Response[InvalidProblem | LimitedProblem | Problem | Subscription]:
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
    notification_pk: int,
    *,
    client: AuthenticatedClient,
    body: UnsubscriptionInput | Unset = UNSET,
    assignment: int | Unset = UNSET,
) -> Response[InvalidProblem | LimitedProblem | Problem | Subscription]:
    """Deactivate a subscription

     Clears `active`; the subscription itself stays, and the call may be repeated. `assignment` is taken
    from the body, or from
    the query string when there is no body, for clients and proxies that drop the body of a DELETE.

    Args:
        org (str):
        prj (str):
        app (str):
        notification_pk (int):
        assignment (int | Unset):
        body (UnsubscriptionInput | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[InvalidProblem | LimitedProblem | Problem | Subscription]
    """

    kwargs = _get_kwargs(
        org=org,
        prj=prj,
        app=app,
        notification_pk=notification_pk,
        body=body,
        assignment=assignment,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    org: str,
    prj: str,
    app: str,
    notification_pk: int,
    *,
    client: AuthenticatedClient,
    body: UnsubscriptionInput | Unset = UNSET,
    assignment: int | Unset = UNSET,
) -> InvalidProblem | LimitedProblem | Problem | Subscription | None:
    """Deactivate a subscription

     Clears `active`; the subscription itself stays, and the call may be repeated. `assignment` is taken
    from the body, or from
    the query string when there is no body, for clients and proxies that drop the body of a DELETE.

    Args:
        org (str):
        prj (str):
        app (str):
        notification_pk (int):
        assignment (int | Unset):
        body (UnsubscriptionInput | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        InvalidProblem | LimitedProblem | Problem | Subscription
    """

    return sync_detailed(
        org=org,
        prj=prj,
        app=app,
        notification_pk=notification_pk,
        client=client,
        body=body,
        assignment=assignment,
    ).parsed


async def asyncio_detailed(
    org: str,
    prj: str,
    app: str,
    notification_pk: int,
    *,
    client: AuthenticatedClient,
    body: UnsubscriptionInput | Unset = UNSET,
    assignment: int | Unset = UNSET,
) -> Response[InvalidProblem | LimitedProblem | Problem | Subscription]:
    """Deactivate a subscription

     Clears `active`; the subscription itself stays, and the call may be repeated. `assignment` is taken
    from the body, or from
    the query string when there is no body, for clients and proxies that drop the body of a DELETE.

    Args:
        org (str):
        prj (str):
        app (str):
        notification_pk (int):
        assignment (int | Unset):
        body (UnsubscriptionInput | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[InvalidProblem | LimitedProblem | Problem | Subscription]
    """

    kwargs = _get_kwargs(
        org=org,
        prj=prj,
        app=app,
        notification_pk=notification_pk,
        body=body,
        assignment=assignment,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    org: str,
    prj: str,
    app: str,
    notification_pk: int,
    *,
    client: AuthenticatedClient,
    body: UnsubscriptionInput | Unset = UNSET,
    assignment: int | Unset = UNSET,
) -> InvalidProblem | LimitedProblem | Problem | Subscription | None:
    """Deactivate a subscription

     Clears `active`; the subscription itself stays, and the call may be repeated. `assignment` is taken
    from the body, or from
    the query string when there is no body, for clients and proxies that drop the body of a DELETE.

    Args:
        org (str):
        prj (str):
        app (str):
        notification_pk (int):
        assignment (int | Unset):
        body (UnsubscriptionInput | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        InvalidProblem | LimitedProblem | Problem | Subscription
    """

    return (
        await asyncio_detailed(
            org=org,
            prj=prj,
            app=app,
            notification_pk=notification_pk,
            client=client,
            body=body,
            assignment=assignment,
        )
    ).parsed
