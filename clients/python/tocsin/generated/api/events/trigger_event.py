from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx

from ... import errors
from ...client import AuthenticatedClient, Client
from ...models.forecast import Forecast
from ...models.invalid_problem import InvalidProblem
from ...models.limited_problem import LimitedProblem
from ...models.problem import Problem
from ...models.trigger import Trigger
from ...models.triggered import Triggered
from ...types import UNSET, Response, Unset


def _get_kwargs(
    org: str,
    prj: str,
    app: str,
    evt: str,
    *,
    body: Trigger,
    cid: str | Unset = UNSET,
    idempotency_key: str | Unset = UNSET,
) -> dict[str, Any]:
    headers: dict[str, Any] = {}
    if not isinstance(idempotency_key, Unset):
        headers["Idempotency-Key"] = idempotency_key

    params: dict[str, Any] = {}

    params["cid"] = cid

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "post",
        "url": "/api/o/{org}/p/{prj}/a/{app}/e/{evt}/trigger/".format(
            org=quote(str(org), safe=""),
            prj=quote(str(prj), safe=""),
            app=quote(str(app), safe=""),
            evt=quote(str(evt), safe=""),
        ),
        "params": params,
    }

    _kwargs["json"] = body.to_dict()

    headers["Content-Type"] = "application/json"

    _kwargs["headers"] = headers
    return _kwargs


def _parse_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> (
    Forecast | Triggered | InvalidProblem | LimitedProblem | Problem | Triggered | None
):
    if response.status_code == 200:

        def _parse_response_200(data: object) -> Forecast | Triggered:
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_trigger_answer_type_0 = Forecast.from_dict(data)

                return componentsschemas_trigger_answer_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            if not isinstance(data, dict):
                raise TypeError()
            componentsschemas_trigger_answer_type_1 = Triggered.from_dict(data)

            return componentsschemas_trigger_answer_type_1

        response_200 = _parse_response_200(response.json())

        return response_200

    if response.status_code == 201:
        response_201 = Triggered.from_dict(response.json())

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
) -> Response[
    Forecast | Triggered | InvalidProblem | LimitedProblem | Problem | Triggered
]:
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
    evt: str,
    *,
    client: AuthenticatedClient,
    body: Trigger,
    cid: str | Unset = UNSET,
    idempotency_key: str | Unset = UNSET,
) -> Response[
    Forecast | Triggered | InvalidProblem | LimitedProblem | Problem | Triggered
]:
    """Trigger an event

     Records an occurrence; when the answer comes it is on disk, and its messages will go out. With
    `dry_run` nothing is
    recorded: the answer is `200` and says what would happen.

    An `Idempotency-Key` keeps it from happening twice: the same request within 24 hours is answered
    with the first occurrence.

    Args:
        org (str):
        prj (str):
        app (str):
        evt (str):
        cid (str | Unset):
        idempotency_key (str | Unset):
        body (Trigger): Members that do not exist are refused.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Forecast | Triggered | InvalidProblem | LimitedProblem | Problem | Triggered]
    """

    kwargs = _get_kwargs(
        org=org,
        prj=prj,
        app=app,
        evt=evt,
        body=body,
        cid=cid,
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
    evt: str,
    *,
    client: AuthenticatedClient,
    body: Trigger,
    cid: str | Unset = UNSET,
    idempotency_key: str | Unset = UNSET,
) -> (
    Forecast | Triggered | InvalidProblem | LimitedProblem | Problem | Triggered | None
):
    """Trigger an event

     Records an occurrence; when the answer comes it is on disk, and its messages will go out. With
    `dry_run` nothing is
    recorded: the answer is `200` and says what would happen.

    An `Idempotency-Key` keeps it from happening twice: the same request within 24 hours is answered
    with the first occurrence.

    Args:
        org (str):
        prj (str):
        app (str):
        evt (str):
        cid (str | Unset):
        idempotency_key (str | Unset):
        body (Trigger): Members that do not exist are refused.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Forecast | Triggered | InvalidProblem | LimitedProblem | Problem | Triggered
    """

    return sync_detailed(
        org=org,
        prj=prj,
        app=app,
        evt=evt,
        client=client,
        body=body,
        cid=cid,
        idempotency_key=idempotency_key,
    ).parsed


async def asyncio_detailed(
    org: str,
    prj: str,
    app: str,
    evt: str,
    *,
    client: AuthenticatedClient,
    body: Trigger,
    cid: str | Unset = UNSET,
    idempotency_key: str | Unset = UNSET,
) -> Response[
    Forecast | Triggered | InvalidProblem | LimitedProblem | Problem | Triggered
]:
    """Trigger an event

     Records an occurrence; when the answer comes it is on disk, and its messages will go out. With
    `dry_run` nothing is
    recorded: the answer is `200` and says what would happen.

    An `Idempotency-Key` keeps it from happening twice: the same request within 24 hours is answered
    with the first occurrence.

    Args:
        org (str):
        prj (str):
        app (str):
        evt (str):
        cid (str | Unset):
        idempotency_key (str | Unset):
        body (Trigger): Members that do not exist are refused.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Forecast | Triggered | InvalidProblem | LimitedProblem | Problem | Triggered]
    """

    kwargs = _get_kwargs(
        org=org,
        prj=prj,
        app=app,
        evt=evt,
        body=body,
        cid=cid,
        idempotency_key=idempotency_key,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    org: str,
    prj: str,
    app: str,
    evt: str,
    *,
    client: AuthenticatedClient,
    body: Trigger,
    cid: str | Unset = UNSET,
    idempotency_key: str | Unset = UNSET,
) -> (
    Forecast | Triggered | InvalidProblem | LimitedProblem | Problem | Triggered | None
):
    """Trigger an event

     Records an occurrence; when the answer comes it is on disk, and its messages will go out. With
    `dry_run` nothing is
    recorded: the answer is `200` and says what would happen.

    An `Idempotency-Key` keeps it from happening twice: the same request within 24 hours is answered
    with the first occurrence.

    Args:
        org (str):
        prj (str):
        app (str):
        evt (str):
        cid (str | Unset):
        idempotency_key (str | Unset):
        body (Trigger): Members that do not exist are refused.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Forecast | Triggered | InvalidProblem | LimitedProblem | Problem | Triggered
    """

    return (
        await asyncio_detailed(
            org=org,
            prj=prj,
            app=app,
            evt=evt,
            client=client,
            body=body,
            cid=cid,
            idempotency_key=idempotency_key,
        )
    ).parsed
