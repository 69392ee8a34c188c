{{- define "psi.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end -}}

{{- define "psi.args" -}}
- serve
- {{ ternary .Values.models.bucket.url "/models" (eq .Values.models.source "bucket") | quote }}
- --http=0.0.0.0:8080
- --grpc=0.0.0.0:8081
- --metrics=0.0.0.0:8082
{{- with .Values.tls.secretName }}
- --tls-cert=/etc/psi/tls/tls.crt
- --tls-key=/etc/psi/tls/tls.key
{{- end }}
{{- with .Values.auth }}
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
{{- if .Values.labels }}
- --labels=/etc/psi/labels/labels.yaml
{{- end }}
{{- with .Values.server }}
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

{{- define "psi.mounts" -}}
- {name: tmp, mountPath: /tmp}
{{- if eq .Values.models.source "pvc" }}
- name: models
  mountPath: /models
  readOnly: true
  {{- with .Values.models.pvc.subPath }}
  subPath: {{ . | quote }}
  {{- end }}
{{- else if eq .Values.models.source "init" }}
- {name: models, mountPath: /models, readOnly: true}
{{- end }}
{{- if .Values.tls.secretName }}
- {name: tls, mountPath: /etc/psi/tls, readOnly: true}
{{- end }}
{{- if .Values.auth.tokens.secretName }}
- {name: tokens, mountPath: /etc/psi/tokens, readOnly: true}
{{- end }}
{{- if .Values.auth.clientCA.secretName }}
- {name: client-ca, mountPath: /etc/psi/client-ca, readOnly: true}
{{- end }}
{{- if .Values.labels }}
- {name: labels, mountPath: /etc/psi/labels, readOnly: true}
{{- end }}
{{- if .Values.server.explanationLog.enabled }}
- {name: explanation-log, mountPath: /var/log/psi}
{{- end }}
{{- end -}}

{{- /* Whole directories are mounted, not single files: only those are brought up to date when a Secret changes. */ -}}
{{- define "psi.volumes" -}}
- name: tmp
  emptyDir: {sizeLimit: 1Gi}
{{- if eq .Values.models.source "pvc" }}
- name: models
  persistentVolumeClaim: {claimName: {{ .Values.models.pvc.claimName | quote }}, readOnly: true}
{{- else if eq .Values.models.source "init" }}
- name: models
  emptyDir: {}
{{- end }}
{{- with .Values.tls.secretName }}
- name: tls
  secret: {secretName: {{ . | quote }}, defaultMode: 0440}
{{- end }}
{{- with .Values.auth.tokens.secretName }}
- name: tokens
  secret: {secretName: {{ . | quote }}, defaultMode: 0440}
{{- end }}
{{- with .Values.auth.clientCA.secretName }}
- name: client-ca
  secret: {secretName: {{ . | quote }}, defaultMode: 0440}
{{- end }}
{{- if .Values.labels }}
- name: labels
  configMap: {name: {{ include "psi.name" . }}-labels}
{{- end }}
{{- if .Values.server.explanationLog.enabled }}
- name: explanation-log
  {{- if .Values.server.explanationLog.claimName }}
  persistentVolumeClaim: {claimName: {{ .Values.server.explanationLog.claimName | quote }}}
  {{- else }}
  emptyDir: {sizeLimit: 1Gi}
  {{- end }}
{{- end }}
{{- end -}}
