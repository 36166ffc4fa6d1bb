import { createHmac, timingSafeEqual } from "node:crypto";

/** How many seconds old or ahead a timestamp may be. */
const tolerance = 300;

/** The webhook does not come from who knows the secret, or not now. */
export class SignatureError extends Error {
  override readonly name = "SignatureError";
}

/** What a channel of the driver webhook sends. */
export interface Message {
  /** The same on every attempt: what was seen before needs nothing but the answer 200. */
  id: string;
  subject: string;
  text: string;
  html?: string;
  /** organization, project, application, event, notification, occurrence */
  facts: Record<string, string>;
  unsubscribe?: string;
}

/**
 * Checks the signature of a webhook (Standard Webhooks) and returns its message. The secret is the channel's, whsec_ and base64; headers are
 * those of a request of fetch or of node:http; the body is what came, byte for byte. `now`, in seconds, is for tests.
 */
export function verifyWebhook(
  secret: string,
  headers: Headers | Record<string, string | string[] | undefined>,
  body: string | Uint8Array,
  now: number = Date.now() / 1000,
): Message {
  const encoded = secret.replace(/^whsec_/, "");
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(encoded)) {
    throw new TypeError("the secret must be whsec_ and base64");
  }
  const header = (name: string): string => {
    const value = headers instanceof Headers ? headers.get(name) : headers[name];
    return typeof value === "string" ? value : "";
  };
  const id = header("webhook-id");
  const timestamp = header("webhook-timestamp");
  if (id === "" || !/^\d{1,15}$/.test(timestamp)) {
    throw new SignatureError("it has no Webhook-Id and Webhook-Timestamp");
  }
  if (Math.abs(now - Number(timestamp)) > tolerance) {
    throw new SignatureError("its timestamp is not of now");
  }
  const want = createHmac("sha256", Buffer.from(encoded, "base64")).update(`${id}.${timestamp}.`).update(body).digest();
  // Several signatures are there while a secret is being replaced.
  const signed = header("webhook-signature")
    .split(" ")
    .some((signature) => {
      const got = Buffer.from(signature.replace(/^v1,/, ""), "base64");
      return signature.startsWith("v1,") && got.length === want.length && timingSafeEqual(got, want);
    });
  if (!signed) {
    throw new SignatureError("it is not signed with this secret");
  }
  return JSON.parse(typeof body === "string" ? body : Buffer.from(body).toString("utf8")) as Message;
}
