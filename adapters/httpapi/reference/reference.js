// What is typed into the page is not kept: the renderer would write the reader's key to the local storage, where it
// stays for whoever opens the browser next. It gets a storage that ends with the page.
const kept = new Map();
Object.defineProperty(window, 'localStorage', {
  value: {
    getItem: (name) => kept.get(name) ?? null,
    setItem: (name, value) => void kept.set(name, String(value)),
    removeItem: (name) => void kept.delete(name),
  },
});

// The renderer asks the document which colours to begin with.
document.documentElement.dataset.theme = matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';

// A key that is pasted without the word in front of it works as well.
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
