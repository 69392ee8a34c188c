{{- define "psi.name" -}}
{{- .Release.Name | trunc 53 | trimSuffix "-" -}}
{{- end -}}

{{- define "psi.selector" -}}
app.kubernetes.io/name: psi
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

{{- /* What no values file may ask for; each message names the remedy. */ -}}
{{- define "psi.check" -}}
{{- with .Values -}}
{{- if not (or .auth.tokens.secretName .auth.clientCA.secretName .auth.oidc.issuer .auth.insecure) -}}
{{- fail "nobody is asked who they are: set auth.tokens.secretName, auth.clientCA.secretName or auth.oidc.issuer; or auth.insecure=true behind a gateway that asks" -}}
{{- end -}}
{{- if and .auth.insecure (or .auth.tokens.secretName .auth.clientCA.secretName .auth.oidc.issuer) -}}
{{- fail "auth.insecure=true beside a way to ask for names: clear auth.tokens.secretName, auth.clientCA.secretName and auth.oidc.issuer, or leave auth.insecure false" -}}
{{- end -}}
{{- if and .auth.clientCA.secretName (not .tls.secretName) -}}
{{- fail "auth.clientCA.secretName needs the server's own certificate: set tls.secretName" -}}
{{- end -}}
{{- if and .auth.oidc.issuer (not .auth.oidc.audience) -}}
{{- fail "auth.oidc.issuer needs auth.oidc.audience: else any token of that issuer would do" -}}
{{- end -}}
{{- if and (eq .models.source "bucket") (not .models.bucket.url) -}}
{{- fail "models.source=bucket needs models.bucket.url" -}}
{{- end -}}
{{- if and (eq .models.source "pvc") (not .models.pvc.claimName) -}}
{{- fail "models.source=pvc needs models.pvc.claimName" -}}
{{- end -}}
{{- if and (eq .models.source "init") (not .models.init.image) -}}
{{- fail "models.source=init needs models.init.image" -}}
{{- end -}}
{{- if and .serviceMonitor.enabled (not .auth.insecure) (not .serviceMonitor.token.secretName) -}}
{{- fail "serviceMonitor.enabled needs serviceMonitor.token.secretName: /metrics asks for a token" -}}
{{- end -}}
{{- end -}}
{{- end -}}
