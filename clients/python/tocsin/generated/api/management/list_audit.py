import datetime
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx

from ... import errors
from ...client import AuthenticatedClient, Client
from ...models.audit_entry import AuditEntry
from ...models.invalid_problem import InvalidProblem
from ...models.limited_problem import LimitedProblem
from ...models.list_audit_via import ListAuditVia
from ...models.problem import Problem
from ...types import UNSET, Response, Unset


def _get_kwargs(
    org: str,
    *,
    limit: int | Unset = UNSET,
    after: int | Unset = UNSET,
    total: bool | Unset = UNSET,
    filter_digest: str | Unset = UNSET,
    actor: str | Unset = UNSET,
    via: ListAuditVia | Unset = UNSET,
    action_begins: str | Unset = UNSET,
    object_begins: str | Unset = UNSET,
    created_after: datetime.datetime | Unset = UNSET,
    created_before: datetime.datetime | Unset = UNSET,
) -> dict[str, Any]:
    params: dict[str, Any] = {}

    params["limit"] = limit

    params["after"] = after

    params["total"] = total

    params["filter_digest"] = filter_digest

    params["actor"] = actor

    json_via: str | Unset = UNSET
    if not isinstance(via, Unset):
        json_via = via.value

    params["via"] = json_via

    params["action_begins"] = action_begins

    params["object_begins"] = object_begins

    json_created_after: str | Unset = UNSET
    if not isinstance(created_after, Unset):
        json_created_after = created_after.isoformat()
    params["created_after"] = json_created_after

    json_created_before: str | Unset = UNSET
    if not isinstance(created_before, Unset):
        json_created_before = created_before.isoformat()
    params["created_before"] = json_created_before

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/api/o/{org}/audit/".format(
            org=quote(str(org), safe=""),
        ),
        "params": params,
    }

    return _kwargs


def _parse_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> InvalidProblem | LimitedProblem | Problem | list[AuditEntry] | None:
    if response.status_code == 200:
        response_200 = []
        _response_200 = response.json()
        for response_200_item_data in _response_200:
            response_200_item = AuditEntry.from_dict(response_200_item_data)

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
) -> Response[InvalidProblem | LimitedProblem | Problem | list[AuditEntry]]:
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
    actor: str | Unset = UNSET,
    via: ListAuditVia | Unset = UNSET,
    action_begins: str | Unset = UNSET,
    object_begins: str | Unset = UNSET,
    created_after: datetime.datetime | Unset = UNSET,
    created_before: datetime.datetime | Unset = UNSET,
) -> Response[InvalidProblem | LimitedProblem | Problem | list[AuditEntry]]:
    """List the audit log

     Who changed what in the organization, newest first, unlike other lists: `after` continues with older
    entries. No entry contains secrets.
    Entries are removed when they are old.

    Args:
        org (str):
        limit (int | Unset):
        after (int | Unset):
        total (bool | Unset):
        filter_digest (str | Unset):
        actor (str | Unset):
        via (ListAuditVia | Unset):
        action_begins (str | Unset):
        object_begins (str | Unset):
        created_after (datetime.datetime | Unset):
        created_before (datetime.datetime | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[InvalidProblem | LimitedProblem | Problem | list[AuditEntry]]
    """

    kwargs = _get_kwargs(
        org=org,
        limit=limit,
        after=after,
        total=total,
        filter_digest=filter_digest,
        actor=actor,
        via=via,
        action_begins=action_begins,
        object_begins=object_begins,
        created_after=created_after,
        created_before=created_before,
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
    actor: str | Unset = UNSET,
    via: ListAuditVia | Unset = UNSET,
    action_begins: str | Unset = UNSET,
    object_begins: str | Unset = UNSET,
    created_after: datetime.datetime | Unset = UNSET,
    created_before: datetime.datetime | Unset = UNSET,
) -> InvalidProblem | LimitedProblem | Problem | list[AuditEntry] | None:
    """List the audit log

     Who changed what in the organization, newest first, unlike other lists: `after` continues with older
    entries. No entry contains secrets.
    Entries are removed when they are old.

    Args:
        org (str):
        limit (int | Unset):
        after (int | Unset):
        total (bool | Unset):
        filter_digest (str | Unset):
        actor (str | Unset):
        via (ListAuditVia | Unset):
        action_begins (str | Unset):
        object_begins (str | Unset):
        created_after (datetime.datetime | Unset):
        created_before (datetime.datetime | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        InvalidProblem | LimitedProblem | Problem | list[AuditEntry]
    """

    return sync_detailed(
        org=org,
        client=client,
        limit=limit,
        after=after,
        total=total,
        filter_digest=filter_digest,
        actor=actor,
        via=via,
        action_begins=action_begins,
        object_begins=object_begins,
        created_after=created_after,
        created_before=created_before,
    ).parsed


async def asyncio_detailed(
    org: str,
    *,
    client: AuthenticatedClient,
    limit: int | Unset = UNSET,
    after: int | Unset = UNSET,
    total: bool | Unset = UNSET,
    filter_digest: str | Unset = UNSET,
    actor: str | Unset = UNSET,
    via: ListAuditVia | Unset = UNSET,
    action_begins: str | Unset = UNSET,
    object_begins: str | Unset = UNSET,
    created_after: datetime.datetime | Unset = UNSET,
    created_before: datetime.datetime | Unset = UNSET,
) -> Response[InvalidProblem | LimitedProblem | Problem | list[AuditEntry]]:
    """List the audit log

     Who changed what in the organization, newest first, unlike other lists: `after` continues with older
    entries. No entry contains secrets.
    Entries are removed when they are old.

    Args:
        org (str):
        limit (int | Unset):
        after (int | Unset):
        total (bool | Unset):
        filter_digest (str | Unset):
        actor (str | Unset):
        via (ListAuditVia | Unset):
        action_begins (str | Unset):
        object_begins (str | Unset):
        created_after (datetime.datetime | Unset):
        created_before (datetime.datetime | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[InvalidProblem | LimitedProblem | Problem | list[AuditEntry]]
    """

    kwargs = _get_kwargs(
        org=org,
        limit=limit,
        after=after,
        total=total,
        filter_digest=filter_digest,
        actor=actor,
        via=via,
        action_begins=action_begins,
        object_begins=object_begins,
        created_after=created_after,
        created_before=created_before,
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
    actor: str | Unset = UNSET,
    via: ListAuditVia | Unset = UNSET,
    action_begins: str | Unset = UNSET,
    object_begins: str | Unset = UNSET,
    created_after: datetime.datetime | Unset = UNSET,
    created_before: datetime.datetime | Unset = UNSET,
) -> InvalidProblem | LimitedProblem | Problem | list[AuditEntry] | None:
    """List the audit log

     Who changed what in the organization, newest first, unlike other lists: `after` continues with older
    entries. No entry contains secrets.
    Entries are removed when they are old.

    Args:
        org (str):
        limit (int | Unset):
        after (int | Unset):
        total (bool | Unset):
        filter_digest (str | Unset):
        actor (str | Unset):
        via (ListAuditVia | Unset):
        action_begins (str | Unset):
        object_begins (str | Unset):
        created_after (datetime.datetime | Unset):
        created_before (datetime.datetime | Unset):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        InvalidProblem | LimitedProblem | Problem | list[AuditEntry]
    """

    return (
        await asyncio_detailed(
            org=org,
            client=client,
            limit=limit,
            after=after,
            total=total,
            filter_digest=filter_digest,
            actor=actor,
            via=via,
            action_begins=action_begins,
            object_begins=object_begins,
            created_after=created_after,
            created_before=created_before,
        )
    ).parsed
