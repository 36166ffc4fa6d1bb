const temporary = new Set([429, 502, 503, 504]);

/** A refusal by the service, or by something between it and the client. */
export class TocsinError extends Error {
  override readonly name: string = "TocsinError";
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

/**
 * An error after an event was triggered: its occurrence could not be read. Its messages go on being
 * sent, and another trigger would send them again. The status and the other properties are those of
 * a refusal; without one the status is 0.
 */
export class WaitError extends TocsinError {
  override readonly name = "WaitError";

  constructor(
    /** The id of the occurrence, as the trigger answered it. */
    readonly occurrence: number,
    /** What went wrong. */
    override readonly cause: unknown,
  ) {
    super(0, new Headers(), "");
    if (cause instanceof TocsinError) {
      const { status, code, type, detail, param, requestId, quota, fields, retryAfter } = cause;
      Object.assign(this, { status, code, type, detail, param, requestId, quota, fields, retryAfter });
    }
    const what = cause instanceof Error ? cause.message : String(cause);
    this.message = `occurrence ${occurrence} was triggered, and waiting for it failed: ${what}`;
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
    return typeof said === "object" && said !== null && "status" in said && Number.isInteger(said.status) ? { ...said } : undefined;
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
