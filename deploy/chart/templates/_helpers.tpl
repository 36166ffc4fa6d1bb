{{- define "tocsin.name" -}}
{{- if contains "tocsin" .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{ else }}{{ printf "%s-tocsin" .Release.Name | trunc 50 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "tocsin.selector" -}}
app.kubernetes.io/name: tocsin
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "tocsin.labels" -}}
{{ include "tocsin.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "tocsin.image" -}}
{{- if .Values.image.digest }}{{ .Values.image.repository }}@{{ .Values.image.digest }}{{ else }}{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ end }}
{{- end }}

{{- define "tocsin.secret" -}}
{{- required "existingSecret is missing: the name of a Secret with secret_key, and database_url unless sqlite.enabled" .Values.existingSecret }}
{{- end }}

{{- /* What every process is told. */}}
{{- define "tocsin.environment" -}}
- name: TOCSIN_SECRET_KEY
  valueFrom: {secretKeyRef: {name: {{ include "tocsin.secret" . }}, key: secret_key}}
- name: TOCSIN_DATABASE_URL
{{- if .Values.sqlite.enabled }}
  value: sqlite:/var/lib/tocsin/tocsin.db
- name: SQLITE_TMPDIR
  value: /var/lib/tocsin
{{- else }}
  valueFrom: {secretKeyRef: {name: {{ include "tocsin.secret" . }}, key: database_url}}
{{- end }}
- name: TOCSIN_LOG_FORMAT
  value: json
{{- range $name, $value := .Values.settings }}
{{- if has $name (list "secret_key" "database_url" "listen" "metrics_listen" "auto_migrate" "shutdown_delay") }}
{{- fail (printf "settings.%s is set by the chart" $name) }}
{{- end }}
{{- if has $name (list "tls_cert_file" "tls_key_file" "acme_hosts") }}
{{- fail (printf "settings.%s: name a Secret in tls.existingSecret, or let the ingress encrypt; probes name no host, so that ACME has no certificate for them" $name) }}
{{- end }}
- name: TOCSIN_{{ upper $name }}
  value: {{ $value | toString | quote }}
{{- end }}
{{- end }}

{{- /* How probes ask, behind the port. The certificate is not checked. */}}
{{- define "tocsin.scheme" -}}
{{- if .Values.tls.existingSecret }}, scheme: HTTPS{{ end }}
{{- end }}

{{- define "tocsin.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- define "tocsin.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}
