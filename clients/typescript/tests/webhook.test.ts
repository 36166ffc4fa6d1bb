import assert from "node:assert/strict";
import { test } from "node:test";
import { SignatureError, verifyWebhook } from "../src/index.js";

// The example of the specification of Standard Webhooks.
const secret = "whsec_plJ3nmyCDGBKInavdOK15jsl";
const body = '{"event_type":"ping","data":{"success":true}}';
const time = 1731705121;
const signature = "v1,rAvfW3dJ/X/qxhsaXPOyyCGmRKsaKWcsNccKXlIktD0=";
const headers = (signed: string) => ({
  "webhook-id": "msg_loFOjxBNrRLzqYUf",
  "webhook-timestamp": String(time),
  "webhook-signature": signed,
});

test("verifies", () => {
  verifyWebhook(secret, headers(signature), body, time);
  verifyWebhook(secret, headers(`v1,AAAA v1a,AAAA ${signature}`), Buffer.from(body), time + 300);
  verifyWebhook(secret, new Headers(headers(signature)), body, time - 300);
});

test("refuses", () => {
  for (const wrong of [
    () => verifyWebhook(secret, headers(signature), `${body} `, time),
    () => verifyWebhook("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", headers(signature), body, time),
    () => verifyWebhook(secret, headers(""), body, time),
    () => verifyWebhook(secret, headers(signature), body, time + 301),
    () => verifyWebhook(secret, headers(signature), body, time - 301),
    () => verifyWebhook(secret, headers(signature), body),
    () => verifyWebhook(secret, {}, body, time),
    () => verifyWebhook(secret, { ...headers(signature), "webhook-timestamp": "9".repeat(5000) }, body, time),
  ]) {
    assert.throws(wrong, SignatureError);
  }
  for (const none of ["", "whsec_", "whsec_in words"]) {
    assert.throws(() => verifyWebhook(none, headers(signature), body, time), TypeError);
  }
});
