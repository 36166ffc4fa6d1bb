const temporary = new Set([429, 502, 503, 504]);

/** A refusal by the service, or by something between it and the client. */
export class TocsinError extends Error {
  override readonly name = "TocsinError";
  /** What it is, for programs; empty where the answer has none. */
  readonly code: string;
  /** URL of a page about it. */
  readonly type: string;
  /** What went wrong, for people. */
  readonly detail: string;
  /** The part of the request that is wrong, where it is one. */
  readonly param: string;
  /** To quote in a report. */
  readonly requestId: string;
  /** The limit that would be exceeded. */
  readonly quota: string;
  /** Of a 400: field → messages. */
  readonly fields: Record<string, string[]>;
  /** How many milliseconds the service asks to wait. */
  readonly retryAfter: number;

  constructor(
    readonly status: number,
    headers: Headers,
    body: string,
  ) {
    const said = problem(body);
    const text = (name: string): string => (typeof said?.[name] === "string" ? said[name] : "");
    // What is not from the service is a proxy's page. Its beginning may help.
    const detail = redirect(status, headers) || (said ? text("detail") : body.slice(0, 200).trim());
    const requestId = text("request_id") || (headers.get("X-Request-ID") ?? "");
    super(`${status}${detail && `: ${detail}`}${requestId && ` (request ${requestId})`}`);
    this.code = text("code");
    this.type = text("type");
    this.detail = detail;
    this.param = text("param");
    this.requestId = requestId;
    this.quota = text("quota");
    this.fields = (said?.["errors"] as Record<string, string[]> | undefined) ?? {};
    this.retryAfter = retryAfter(headers.get("Retry-After") ?? "");
  }

  /** Whether the same request may succeed later. */
  get temporary(): boolean {
    return temporary.has(this.status);
  }
}

/** Says where a redirect leads to. Browsers hide that, and its status is 0. */
function redirect(status: number, headers: Headers): string {
  if (status === 0) {
    return "redirected: use the URL that it leads to";
  }
  const location = status < 400 && headers.get("Location");
  return location ? `redirected to ${location}: use this URL` : "";
}

function problem(body: string): Record<string, unknown> | undefined {
  try {
    const said: unknown = JSON.parse(body);
    return typeof said === "object" && said !== null && "status" in said ? { ...said } : undefined;
  } catch {
    return undefined;
  }
}

/** Reads the header, which holds seconds or a date. */
function retryAfter(value: string): number {
  if (/^\d+$/.test(value)) {
    return Number(value) * 1000;
  }
  const moment = Date.parse(value);
  return Number.isNaN(moment) ? 0 : Math.max(moment - Date.now(), 0);
}
