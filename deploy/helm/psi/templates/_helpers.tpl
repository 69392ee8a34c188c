{{- /* A Job adds 17 letters to its name, and its pods 6 more. */ -}}
{{- define "psi.name" -}}
{{- .Release.Name | trunc (ternary 53 40 (eq .Values.mode "serve")) | trimSuffix "-" -}}
{{- end -}}

{{- define "psi.selector" -}}
app.kubernetes.io/name: {{ ternary "psi" "psi-batch" (eq .Values.mode "serve") }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "psi.labels" -}}
{{ include "psi.selector" . }}
app.kubernetes.io/version: {{ .Values.image.tag | default .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end -}}

{{- define "psi.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{ .Values.serviceAccount.name | default (include "psi.name" .) }}
{{- else -}}
{{ .Values.serviceAccount.name | default "default" }}
{{- end -}}
{{- end -}}

{{- /* A Job cannot be changed. A digest of its values is part of its name, so other values make another Job. */ -}}
{{- define "psi.digest" -}}
{{- toJson . | sha256sum | trunc 8 -}}
{{- end -}}
