package browser_test

import (
	"bytes"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
)

// imported uploads a file of new members of acme and waits until it is checked, so that it could be started.
func (w *world) imported(name, file string) {
	w.Helper()
	r := w.reader()
	const imports = "/console/o/acme/imports/"
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	require.NoError(w, form.WriteField("form_token", hidden.FindStringSubmatch(r.read(imports, nil).text)[1]))
	part, err := form.CreateFormFile("file", name)
	require.NoError(w, err)
	_, err = io.WriteString(part, file)
	require.NoError(w, err)
	require.NoError(w, form.Close())
	request, err := http.NewRequestWithContext(w.Context(), http.MethodPost, w.base+imports, &body)
	require.NoError(w, err)
	request.Header.Set("Content-Type", form.FormDataContentType())
	response, err := r.Do(request)
	require.NoError(w, err)
	require.NoError(w, response.Body.Close())
	require.Equal(w, http.StatusOK, response.StatusCode)
	page := response.Request.URL.Path
	require.Eventually(w, func() bool { return strings.Contains(r.read(page, nil).text, "Start the import") }, time.Minute, 20*time.Millisecond)
}
