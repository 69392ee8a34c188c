{{- define "serve.args" -}}
{{- with .Values.serve -}}
- serve
- {{ ternary .models.bucket.url "/models" (eq .models.source "bucket") | quote }}
- --http=0.0.0.0:8080
- --grpc=0.0.0.0:8081
- --metrics=0.0.0.0:8082
{{- if .tls.secretName }}
- --tls-cert=/etc/psi/tls/tls.crt
- --tls-key=/etc/psi/tls/tls.key
{{- end }}
{{- with .auth }}
{{- if .tokens.secretName }}
- {{ printf "--token-file=/etc/psi/tokens/%s" .tokens.key | quote }}
{{- end }}
{{- if .clientCA.secretName }}
- {{ printf "--client-ca=/etc/psi/client-ca/%s" .clientCA.key | quote }}
{{- with .clientCA.admins }}
- {{ printf "--client-admin=%s" (join "," .) | quote }}
{{- end }}
{{- end }}
{{- if .oidc.issuer }}
- {{ printf "--oidc-issuer=%s" .oidc.issuer | quote }}
- {{ printf "--oidc-audience=%s" .oidc.audience | quote }}
{{- end }}
{{- if .insecure }}
- --insecure
{{- end }}
{{- end }}
{{- if .labels }}
- --labels=/etc/psi/labels/labels.yaml
{{- end }}
{{- if .backend }}
- --backend={{ .backend }}
{{- end }}
{{- if .ui }}
- --ui
{{- end }}
{{- if .maxRows }}
- --max-rows={{ int .maxRows }}
{{- end }}
- --max-body={{ .maxBody }}
- --timeout={{ .timeoutSeconds }}s
{{- if .rate }}
- --rate={{ .rate }}
{{- end }}
- --drain={{ .drainSeconds }}s
- --log-format={{ .logFormat }}
{{- if .otlp }}
- {{ printf "--otlp=%s" .otlp | quote }}
{{- end }}
{{- if .explanationLog.enabled }}
- --log-dir=/var/log/psi
- --log-sample={{ .explanationLog.sample }}
{{- if .explanationLog.values }}
- --log-values
{{- end }}
{{- end }}
{{- range .extraArgs }}
- {{ . | quote }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "serve.secrets" -}}
- {name: tls, secretName: {{ .Values.serve.tls.secretName | quote }}}
- {name: tokens, secretName: {{ .Values.serve.auth.tokens.secretName | quote }}}
- {name: client-ca, secretName: {{ .Values.serve.auth.clientCA.secretName | quote }}}
{{- end -}}

{{- define "serve.mounts" -}}
{{- with .Values.serve.models }}
{{- if eq .source "pvc" }}
- name: models
  mountPath: /models
  readOnly: true
  {{- with .pvc.subPath }}
  subPath: {{ . | quote }}
  {{- end }}
{{- else if eq .source "init" }}
- {name: models, mountPath: /models, readOnly: true}
{{- end }}
{{- end }}
{{- include "psi.secretMounts" . }}
{{- if .Values.serve.labels }}
- {name: labels, mountPath: /etc/psi/labels, readOnly: true}
{{- end }}
{{- if .Values.serve.explanationLog.enabled }}
- {name: explanation-log, mountPath: /var/log/psi}
{{- end }}
{{- end -}}

{{- define "serve.volumes" -}}
{{- with .Values.serve.models }}
{{- if eq .source "pvc" }}
- name: models
  persistentVolumeClaim: {claimName: {{ .pvc.claimName | quote }}, readOnly: true}
{{- else if eq .source "init" }}
- name: models
  emptyDir: {}
{{- end }}
{{- end }}
{{- include "psi.secretVolumes" . }}
{{- if .Values.serve.labels }}
- name: labels
  configMap: {name: {{ include "psi.name" . }}-labels}
{{- end }}
{{- with .Values.serve.explanationLog }}
{{- if .enabled }}
- name: explanation-log
  {{- if .claimName }}
  persistentVolumeClaim: {claimName: {{ .claimName | quote }}}
  {{- else }}
  emptyDir: {sizeLimit: 1Gi}
  {{- end }}
{{- end }}
{{- end }}
{{- end -}}
