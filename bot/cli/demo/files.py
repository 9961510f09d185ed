"""Files that the demo writes: the configuration of the repository, a Kptfile and a Deployment."""

CONFIGURATION = """\
version: 1
packages:
  - directory: {directory}
guardrails:
  mutators:
    - image: set-labels:v0.2
      configMap:
        owner: network
  validators:
    - image: kubeconform:v0.1
      configMap:
        strict: "true"
access:
  approve:
    require: 1
    from: ["role:maintain"]
"""

KPTFILE = """\
apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: {name}
  annotations:
    config.kubernetes.io/local-config: "true"
info:
  description: A small service, made for the demo.
pipeline:
  mutators:
    - image: set-namespace:v0.4
      configMap:
        namespace: {name}
"""

DEPLOYMENT = """\
# The service itself.
apiVersion: apps/v1
kind: Deployment
metadata:
  name: router # one name everywhere
  namespace: {name}
spec:
  replicas: 2
  selector:
    matchLabels:
      app: router
  template:
    metadata:
      labels:
        app: router
    spec:
      containers:
        - name: router
          image: "registry.example/router:1.0"
          ports:
            - containerPort: "http" # a name where a number belongs
"""
