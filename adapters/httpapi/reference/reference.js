// The renderer would store the API key in the local storage, where the next user of the browser finds it. This replaces
// the local storage with one in memory.
const storage = new Map();
Object.defineProperty(window, 'localStorage', {
  value: {
    getItem: (name) => storage.get(name) ?? null,
    setItem: (name, value) => void storage.set(name, String(value)),
    removeItem: (name) => void storage.delete(name),
  },
});

// The renderer reads the initial theme from the document.
document.documentElement.dataset.theme = matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';

// Adds the scheme to a key that was entered without it.
const send = window.fetch;
window.fetch = (target, options) => {
  const headers = new Headers(options?.headers);
  const key = headers.get('Authorization');
  if (key?.startsWith('tcs_')) {
    headers.set('Authorization', `Key ${key}`);
    return send(target, { ...options, headers });
  }
  return send(target, options);
};
